"""Drift minutes: for how long an application was not what Git says, by day. Pure.

Two objects that drift at once are one minute of their application's, not two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta

import msgspec

_DAY = timedelta(days=1)


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One drift; `end` is now for one that lasts."""

    application: str
    begin: datetime
    end: datetime


def minutes(
    spans: Iterable[Span], since: datetime, until: datetime
) -> Mapping[tuple[date, str], float]:
    """By day (UTC) and application, within the given time."""
    found: defaultdict[tuple[date, str], float] = defaultdict(float)
    by_application: defaultdict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_application[span.application].append(span)
    for application, ones in by_application.items():
        for begin, end in _united(ones, since, until):
            for day, part in _days(begin, end):
                found[day, application] += part.total_seconds() / 60
    return dict(found)


def _united(
    spans: Iterable[Span], since: datetime, until: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """Without what overlaps, and without what is outside."""
    reached = since
    for span in sorted(spans, key=lambda it: it.begin):
        begin, end = max(span.begin, reached), min(span.end, until)
        if end > begin:
            yield begin, end
            reached = end


def _days(begin: datetime, end: datetime) -> Iterator[tuple[date, timedelta]]:
    while begin < end:
        day = begin.astimezone(UTC).date()
        midnight = datetime.combine(day, time(), UTC) + _DAY
        yield day, min(end, midnight) - begin
        begin = midnight
