"""Conditions of an object, and the patterns that select them. Pure.

A pattern is written `Type=Status/Reason|Reason:Message|Message`; reasons and messages may be left
out, `*` stands for anything, and `!=` for every other status:

    Ready=False              Ready is False
    Ready!=True              Ready is there, and not True
    *=False/Failed           any condition that is False for the reason Failed
    Ready=*/*:Reconciling    Ready, whatever its status, with this message
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from handlers.health.paths import Path, steps
from handlers.manifest.access import Manifest, get, items, text

CONDITIONS = "status.conditions"
_ANY = "*"


class ConditionPattern(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions of a type and status, of some reasons and messages; empty means any."""

    type: str
    status: str
    negated: bool
    reasons: tuple[str, ...]
    messages: tuple[str, ...]

    def matches(self, entry: Manifest) -> bool:
        if self.type and entry.get("type") != self.type:
            return False
        if self.status and (entry.get("status") == self.status) is self.negated:
            return False
        if self.reasons and entry.get("reason") not in self.reasons:
            return False
        return not self.messages or entry.get("message") in self.messages


def pattern(written: str) -> ConditionPattern:
    """Read a pattern; raises ValueError where there is no `=`."""
    left, equals, right = written.partition("=")
    if not equals:
        raise ValueError(f"pattern {written!r} has no '='; expected Type=Status")
    head, _, messages = right.partition(":")
    status, _, reasons = head.partition("/")
    return ConditionPattern(
        type=_word(left.removesuffix("!")),
        status=_word(status),
        negated=left.endswith("!"),
        reasons=_alternatives(reasons),
        messages=_alternatives(messages),
    )


def _word(written: str) -> str:
    return "" if written == _ANY else written


def _alternatives(written: str) -> tuple[str, ...]:
    return () if written in ("", _ANY) else tuple(written.split("|"))


def message_of(entry: Manifest) -> str:
    """The message of a condition; where it has none its reason."""
    return text(entry, "message") or text(entry, "reason")


def conditions(manifest: Manifest, path: Path = CONDITIONS) -> tuple[Manifest, ...]:
    return items(manifest, *steps(path))


def is_current(entry: Manifest, manifest: Manifest) -> bool:
    """Whether a condition is about the newest spec; one that does not say so is taken as it is."""
    observed = entry.get("observedGeneration")
    return observed is None or observed == get(manifest, "metadata", "generation")


def current(manifest: Manifest, path: Path = CONDITIONS) -> Iterator[Manifest]:
    return (entry for entry in conditions(manifest, path) if is_current(entry, manifest))
