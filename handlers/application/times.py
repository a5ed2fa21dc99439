"""Times and durations as Kubernetes objects write them.

A time is RFC 3339 in UTC with whole seconds; a duration Go's `1h30m` or a number of seconds.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime


def written(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(text: str) -> datetime | None:
    """Read a time; None where there is none, or none that can be read."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def since(text: str, now: datetime) -> float | None:
    """Seconds from `text` to `now`, never negative; None where there is no time."""
    found = read(text)
    return None if found is None else max(0.0, (now - found).total_seconds())


_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def seconds(text: str) -> float:
    """Read a duration in seconds; raises ValueError, which shows the expected form."""
    if _NUMBER.fullmatch(text):
        return float(text)
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a duration; expected one like 30s, 5m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
