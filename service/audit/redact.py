"""What a record may keep of before and after: the shape, never a credential.

Pure. A value under a sensitive name is replaced, a text loses what looks like a credential, and
what is very long is cut: the audit is kept for years and read by many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bus.redaction import HIDDEN, is_sensitive, masked

_LONGEST = 2000
_DEEPEST = 12
_ALSO = ("sealed", "hash", "private")
"""Of our own records: boxes for agents, hashes of passwords and tokens, private halves of keys."""


def redacted(value: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        return "(deeper)"
    if isinstance(value, Mapping):
        return {str(key): _item(str(key), it, depth) for key, it in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redacted(it, depth + 1) for it in value]
    if isinstance(value, str):
        return masked(value)[:_LONGEST]
    return value if isinstance(value, int | float | bool | None) else str(value)[:_LONGEST]


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Only what differs, as `{field: {before, after}}`."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return {name: _pair(name, before.get(name), after.get(name)) for name in sorted(names)}


def _pair(name: str, before: Any, after: Any) -> dict[str, Any]:
    return {"before": _item(name, before, 0), "after": _item(name, after, 0)}


def _item(name: str, value: Any, depth: int) -> Any:
    named = is_sensitive(name) or name.lower().endswith(_ALSO)
    return HIDDEN if named and value and not isinstance(value, bool) else redacted(value, depth + 1)
