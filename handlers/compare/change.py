"""The outcome of comparing one object: a verdict and the fields that differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

Step = str | int | tuple[tuple[str, Any], ...]
"""A field, the index in an atomic list, or the keys of an entry of an associative list."""
Path = tuple[Step, ...]

_PLAIN_FIELD = re.compile(r"[\w$-]+")
_DESIRED_MASK = "++++++++"
_LIVE_MASK = "++++++++++++"


class Verdict(StrEnum):
    SAME = "Same"
    DIFFERENT = "Different"
    UNCERTAIN = "Uncertain"
    """Only the server can tell: ask it, or take it for the same."""


class ChangeKind(StrEnum):
    CHANGED = "changed"
    MISSING = "missing"
    """Desired, and not in the cluster."""
    EXTRA = "extra"
    """In the cluster, ours, and no longer desired."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    kind: ChangeKind
    desired: Any = None
    live: Any = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    verdict: Verdict
    differences: tuple[Difference, ...] = ()
    doubts: tuple[str, ...] = ()
    """Why the verdict is uncertain: paths, or a sentence."""


def written(path: Path) -> str:
    """`spec.containers[name=web].image`, `metadata.labels["a.b/c"]`, `spec.rules[0]`."""
    return "".join(_step(step) for step in path).removeprefix(".")


def masked(differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """The differences of a Secret: that something differs is seen, what it is not."""
    return tuple(
        msgspec.structs.replace(
            difference,
            desired=_mask(difference.desired, _DESIRED_MASK),
            live=_mask(difference.live, _LIVE_MASK),
        )
        for difference in differences
    )


def _step(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if isinstance(step, tuple):
        return "[" + ",".join(f"{key}={value}" for key, value in step) + "]"
    return f".{step}" if _PLAIN_FIELD.fullmatch(step) else f'["{step}"]'


def _mask(value: Any, mask: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _mask(each, mask) for key, each in value.items()}
    return None if value is None else mask
