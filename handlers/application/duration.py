"""Durations as Kubernetes objects write them: Go's `1h30m`, `500ms`, or a number of seconds."""

from __future__ import annotations

import re

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def seconds(text: str) -> float:
    """Raises ValueError with the expected form."""
    if _NUMBER.fullmatch(text):
        return float(text)
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a duration; expected one like 30s, 5m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
