"""The JSON merge patch (RFC 7386): made from one mapping to another, and applied to one. Pure.

Lists are replaced whole, as merge patches do; a key that is gone becomes null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Make the smallest patch; None where nothing differs."""
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            patch[key] = value
        elif isinstance(value, Mapping) and isinstance(before[key], Mapping):
            inner = merge_patch(before[key], value)
            if inner is not None:
                patch[key] = inner
        elif value != before[key]:
            patch[key] = value
    return patch or None


def patched(document: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a merge patch as the API server does."""
    after = dict(document)
    for key, value in patch.items():
        if value is None:
            after.pop(key, None)
        elif isinstance(value, Mapping):
            before = after.get(key)
            after[key] = patched(before if isinstance(before, Mapping) else {}, value)
        else:
            after[key] = value
    return after
