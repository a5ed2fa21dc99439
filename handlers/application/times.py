"""Times as Kubernetes writes them: RFC 3339 in UTC, whole seconds."""

from __future__ import annotations

from datetime import UTC, datetime


def written(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(text: str) -> datetime | None:
    """None where there is no time, or none that can be read."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def since(text: str, now: datetime) -> float | None:
    """Seconds from `text` to `now`, never negative; None where there is no time."""
    found = read(text)
    return None if found is None else max(0.0, (now - found).total_seconds())
