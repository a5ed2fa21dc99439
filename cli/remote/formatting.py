"""Formats for people: ages, times, short commits, and other people's text, safe to print. Pure.

Names and messages come from commits, clusters and other people: a terminal must not obey them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_COMMIT = 40
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def clean(text: str) -> str:
    """Remove control characters, so that no terminal takes a part of the text as a command."""
    return "".join(each if each.isprintable() else " " for each in text).strip()


def log_line(text: str) -> str:
    """Clean a line of a log, but keep its indentation and tabs."""
    plain = _COLOURS.sub("", text)
    return "".join(each if each.isprintable() or each == "\t" else " " for each in plain).rstrip()


def short(revision: str) -> str:
    """Shorten a commit to seven digits; branches, tags and chart versions stay as they are."""
    is_commit = len(revision) == _COMMIT and revision.isalnum()
    return revision[:7] if is_commit else clean(revision)


def parsed_time(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)


def age(text: str | None, now: datetime) -> str:
    """Format the time since `time`: `4 min`, `3 d`; empty where the time is unknown."""
    then = parsed_time(text)
    if then is None:
        return ""
    seconds = (now - then).total_seconds()
    return "now" if seconds < 1 else lasting(seconds)


def lasting(seconds: float) -> str:
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return "< 1 s"


def clock(text: str | None) -> str:
    """Format the local time of day, with milliseconds."""
    then = parsed_time(text)
    return then.astimezone().strftime("%H:%M:%S.%f")[:-3] if then else ""


def day(text: str | None) -> str:
    """Format the local date and time, with the zone."""
    then = parsed_time(text)
    return then.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z") if then else ""
