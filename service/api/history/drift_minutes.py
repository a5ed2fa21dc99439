"""Drift minutes: for how long each application differed from Git, by day (UTC).

Every number of drift minutes comes from here: the drift page's and the fleet's. Two objects of one
application that drift at once count once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta

import msgspec
from sqlalchemy import ColumnElement, or_, select

from service.api.history.record_visibility import same_application, visible
from service.http.call import ApiCall
from service.http.fields import ENVIRONMENT, REGION
from service.projection.applications import application_id
from service.store.rows import read_rows
from service.store.tables import agents, applications, drifts

_DAY = timedelta(days=1)
_MOST = 100_000


class DriftByDay(msgspec.Struct, frozen=True, kw_only=True):
    day: date
    application: str
    subject: str
    environment: str
    region: str
    minutes: float


class DriftSpanRow(msgspec.Struct, frozen=True, kw_only=True):
    agent_id: str
    subject: str
    began_at: datetime
    ended_at: datetime | None
    environment: str
    region: str


async def drifted(
    call: ApiCall, since: datetime, until: datetime, conditions: Iterable[ColumnElement[bool]] = ()
) -> list[DriftByDay]:
    """List drift minutes by day, the newest first; an open drift counts until now."""
    query = (
        select(drifts.c.agent_id, drifts.c.subject, drifts.c.began_at, drifts.c.ended_at)
        .add_columns(ENVIRONMENT.label("environment"), REGION.label("region"))
        .join(agents, agents.c.id == drifts.c.agent_id)
        .outerjoin(applications, same_application(drifts))
        .where(visible(call), *within(since, until), *conditions)
        .limit(_MOST)
    )
    rows = await read_rows(call.connection, query, DriftSpanRow)
    about = {_id(row): row for row in rows}
    spans = (_span(row, call.now) for row in rows)
    return [
        DriftByDay(
            day=day,
            application=id_,
            subject=about[id_].subject,
            environment=about[id_].environment,
            region=about[id_].region,
            minutes=count,
        )
        for (day, id_), count in sorted(minutes(spans, since, until).items(), reverse=True)
    ]


def within(since: datetime | None, until: datetime | None) -> Iterable[ColumnElement[bool]]:
    """A drift counts where any part of it lies within the time."""
    if since is not None:
        yield or_(drifts.c.ended_at.is_(None), drifts.c.ended_at > since)
    if until is not None:
        yield drifts.c.began_at < until


def _span(row: DriftSpanRow, now: datetime) -> Span:
    return Span(application=_id(row), begin=row.began_at, end=row.ended_at or now)


def _id(row: DriftSpanRow) -> str:
    return application_id(row.agent_id, row.subject)


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One drift; `end` is now for one that lasts."""

    application: str
    begin: datetime
    end: datetime


def minutes(
    spans: Iterable[Span], since: datetime, until: datetime
) -> Mapping[tuple[date, str], float]:
    """Sum drift minutes by day (UTC) and application within the time."""
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
