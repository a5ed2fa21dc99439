"""The JSON merge patch (RFC 7386) from one mapping to another. Pure.

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
