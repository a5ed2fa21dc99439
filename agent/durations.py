"""Durations are written as seconds or in Go's spelling (`3m`, `1h30m`, `500ms`)."""

from __future__ import annotations

import re

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")


def seconds_of(value: object) -> object:
    """Convert to seconds; a number is returned unchanged. Raises ValueError with the forms."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if _WHOLE.fullmatch(text):
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    try:
        return float(text)
    except ValueError:
        raise ValueError("expected a duration such as 90, 90s, 3m or 1h30m") from None
