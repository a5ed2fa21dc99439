"""What a record may keep of before and after: the shape, never a credential.

Pure. A value under a name that speaks of secrets is replaced, a URL loses its user and password,
and what is very long is cut: the audit is kept for years and read by many.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "(hidden)"
_LONGEST = 2000
_DEEPEST = 12
_SECRET = re.compile(
    r"passw|secret(?!ref)|token|private|credential|kubeconfig|sealed|hash$|apikey|keydata|bearer",
    re.IGNORECASE,
)
_USER_IN_URL = re.compile(r"(?<=://)[^/@\s]+@")


def redacted(value: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        return "(deeper)"
    if isinstance(value, Mapping):
        return {str(key): _item(str(key), it, depth) for key, it in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redacted(it, depth + 1) for it in value]
    if isinstance(value, str):
        return _USER_IN_URL.sub("", value)[:_LONGEST]
    return value if isinstance(value, int | float | bool | None) else str(value)[:_LONGEST]


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Only what differs, as `{field: {before, after}}`."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return {name: _pair(name, before.get(name), after.get(name)) for name in sorted(names)}


def _pair(name: str, before: Any, after: Any) -> dict[str, Any]:
    return {"before": _item(name, before, 0), "after": _item(name, after, 0)}


def _item(name: str, value: Any, depth: int) -> Any:
    if _SECRET.search(name.replace("_", "").replace("-", "")) and value:
        return HIDDEN
    return redacted(value, depth + 1)
