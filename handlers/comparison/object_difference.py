"""DiffOutcome: the verdict about one object, and the fields that differ. Pure values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

Step = str | int | tuple[tuple[str, Any], ...]
"""A step of a path: field name, index in an atomic list, or merge keys of a list entry."""
Path = tuple[Step, ...]

_PLAIN_FIELD = re.compile(r"[\w$-]+")
_DESIRED_MASK = "++++++++"
_LIVE_MASK = "++++++++++++"


class DiffVerdict(StrEnum):
    SAME = "Same"
    DIFFERENT = "Different"
    UNCERTAIN = "Uncertain"
    """Only the server can tell: ask it by a dry run, or count the object as unknown."""


class ChangeKind(StrEnum):
    CHANGED = "changed"
    MISSING = "missing"
    """Desired, and not in the cluster."""
    EXTRA = "extra"
    """In the cluster, ours, and no longer desired."""


class FieldDifference(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    kind: ChangeKind
    desired: Any = None
    live: Any = None


class DiffOutcome(msgspec.Struct, frozen=True, kw_only=True):
    verdict: DiffVerdict
    differences: tuple[FieldDifference, ...] = ()
    doubts: tuple[str, ...] = ()
    """Why the verdict is uncertain: paths, or a sentence."""


def written(path: Path) -> str:
    """Write a path: `spec.containers[name=web].image`, `metadata.labels["a.b/c"]`, `rules[0]`."""
    return "".join(_step(step) for step in path).removeprefix(".")


def masked(differences: Iterable[FieldDifference]) -> tuple[FieldDifference, ...]:
    """Mask the values of a Secret's differences, so that only the fact of a difference is seen."""
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
