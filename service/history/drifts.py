"""The drift ledger, read: each drift, and the minutes of drift by day."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec
from sqlalchemy import ColumnElement, RowMapping, Select, func, or_, select

from service.api.call import Call
from service.api.endpoint import Answer, Endpoint
from service.api.fields import Text, text_of
from service.api.pages import Order, Page, PageQuery, rows_of
from service.history.minutes import Span, minutes
from service.history.timeline import FIRST, Time
from service.history.visible import VIEW, same_application, visible
from service.projection.applications import application_id
from service.store.tables import agents, applications, drifts

_WEEK = timedelta(days=7)
_LONGEST = timedelta(days=92)
_MOST = 100_000


class DriftsQuery(PageQuery, frozen=True, kw_only=True):
    """`open`: only those that last, or only those that ended; `application`: its id."""

    open: bool | None = None
    since: Time | None = None
    until: Time | None = None
    application: Text = ""
    project: Text = ""
    environment: Text = ""
    agent: Text = ""


class MinutesQuery(DriftsQuery, frozen=True, kw_only=True):
    """Without `since`: of the last week."""


class Field(Answer, frozen=True, kw_only=True):
    """Values do not leave the cluster."""

    path: str


class DriftEntry(Answer, frozen=True, kw_only=True):
    """`actor`: the field manager that wrote, where it is known."""

    id: str
    agent: str
    agent_name: str
    application: str
    subject: str
    project: str
    environment: str
    object: str
    fields: list[Field]
    actor: str
    began_at: str | None
    ended_at: str | None
    ended_how: Annotated[str, msgspec.Meta(description="healed, synced, accepted, gone, or none")]
    seconds: float


class DriftMinutes(Answer, frozen=True, kw_only=True):
    day: str
    application: str
    subject: str
    environment: str
    minutes: float


async def list_drifts(call: Call, given: DriftsQuery) -> Page[DriftEntry]:
    """The newest first."""
    query = _selected().where(visible(call), *_filters(given))
    order = Order(columns=(drifts.c.began_at, drifts.c.id), descending=True)
    found = await rows_of(call.connection, query, order, given, f"{call.account}/drifts")
    return Page(items=[_entry(row, call.now) for row in found.rows], next=found.next)


async def list_drift_minutes(call: Call, given: MinutesQuery) -> Page[DriftMinutes]:
    """How long each application drifted on each day (UTC), the newest day first."""
    until = max(FIRST, min(given.until or call.now, call.now))
    since = max(given.since or until - _WEEK, until - _LONGEST)
    given = msgspec.structs.replace(given, since=since, until=until)
    query = _selected().where(visible(call), *_filters(given)).limit(_MOST)
    rows = list((await call.connection.execute(query)).mappings())
    about = {application_id(it["agent_id"], it["subject"]): it for it in rows}
    spans = [_span(it, call.now) for it in rows]
    items = [
        DriftMinutes(
            day=day.isoformat(),
            application=id_,
            subject=about[id_]["subject"],
            environment=about[id_]["environment"],
            minutes=round(count, 2),
        )
        for (day, id_), count in sorted(minutes(spans, since, until).items(), reverse=True)
    ]
    return Page(items=items)


_ENVIRONMENT = func.coalesce(applications.c.environment, agents.c.environment)


def _selected() -> Select[Any]:
    return (
        select(drifts, agents.c.name.label("agent_name"), _ENVIRONMENT.label("environment"))
        .join(agents, agents.c.id == drifts.c.agent_id)
        .outerjoin(applications, same_application(drifts))
    )


def _filters(given: DriftsQuery) -> Iterable[ColumnElement[bool]]:
    """A drift counts where any part of it lies within the time."""
    if given.open is not None:
        lasts = drifts.c.ended_at.is_(None)
        yield lasts if given.open else ~lasts
    if given.since is not None:
        yield or_(drifts.c.ended_at.is_(None), drifts.c.ended_at > given.since)
    if given.until is not None:
        yield drifts.c.began_at < given.until
    if given.application:
        yield applications.c.id == given.application
    if given.project:
        yield drifts.c.project == given.project
    if given.environment:
        yield _ENVIRONMENT.in_(given.environment.split(","))
    if given.agent:
        yield or_(agents.c.id == given.agent, agents.c.name == given.agent)


def _entry(row: RowMapping, now: datetime) -> DriftEntry:
    span = _span(row, now)
    return DriftEntry(
        id=row["id"],
        agent=row["agent_id"],
        agent_name=row["agent_name"],
        application=span.application,
        subject=row["subject"],
        project=row["project"],
        environment=row["environment"],
        object=row["object"],
        fields=[Field(path=it) for it in row["fields"]],
        actor=row["actor"],
        began_at=text_of(row["began_at"]),
        ended_at=text_of(row["ended_at"]),
        ended_how=row["ended_how"],
        seconds=max(0.0, (span.end - span.begin).total_seconds()),
    )


def _span(row: RowMapping, now: datetime) -> Span:
    id_ = application_id(row["agent_id"], row["subject"])
    return Span(application=id_, begin=row["began_at"], end=row["ended_at"] or now)


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/drifts",
        needs=VIEW,
        handler=list_drifts,
        takes=DriftsQuery,
        gives=Page[DriftEntry],
    ),
    Endpoint(
        method="GET",
        path="/drifts/minutes",
        needs=VIEW,
        handler=list_drift_minutes,
        takes=MinutesQuery,
        gives=Page[DriftMinutes],
    ),
)
