"""The drift ledger, read: each drift, and the minutes of drift by day."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec
from sqlalchemy import ColumnElement, RowMapping, Select, or_, select

from service.api.call import Call
from service.api.endpoint import Answer, Endpoint
from service.api.fields import Text, text_of
from service.api.pages import Order, Page, rows_of
from service.api.places import ENVIRONMENT, REGION, PlaceQuery, in_place
from service.history.drifted import drifted, within
from service.history.timeline import FIRST, Time
from service.history.visible import VIEW, same_application, visible
from service.projection.applications import application_id
from service.store.tables import agents, applications, drifts

_WEEK = timedelta(days=7)
_LONGEST = timedelta(days=92)


class DriftsQuery(PlaceQuery, frozen=True, kw_only=True):
    """`open`: only those that last, or only those that ended; `application`: its id."""

    open: bool | None = None
    since: Time | None = None
    until: Time | None = None
    application: Text = ""
    project: Text = ""
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
    region: str
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
    region: str
    minutes: float


async def list_drifts(call: Call, given: DriftsQuery) -> Page[DriftEntry]:
    """The newest first."""
    ones = (*within(given.since, given.until), *_filters(given))
    query = _selected().where(visible(call), *ones)
    order = Order(columns=(drifts.c.began_at, drifts.c.id), descending=True)
    found = await rows_of(call.connection, query, order, given, f"{call.account}/drifts")
    return Page(items=[_entry(row, call.now) for row in found.rows], next=found.next)


async def list_drift_minutes(call: Call, given: MinutesQuery) -> Page[DriftMinutes]:
    """How long each application drifted on each day (UTC), the newest day first."""
    until = max(FIRST, min(given.until or call.now, call.now))
    since = max(given.since or until - _WEEK, until - _LONGEST)
    items = [
        DriftMinutes(
            day=it.day.isoformat(),
            application=it.application,
            subject=it.subject,
            environment=it.environment,
            region=it.region,
            minutes=round(it.minutes, 2),
        )
        for it in await drifted(call, since, until, _filters(given))
    ]
    return Page(items=items)


def _selected() -> Select[Any]:
    return (
        select(drifts, agents.c.name.label("agent_name"))
        .add_columns(ENVIRONMENT.label("environment"), REGION.label("region"))
        .join(agents, agents.c.id == drifts.c.agent_id)
        .outerjoin(applications, same_application(drifts))
    )


def _filters(given: DriftsQuery) -> Iterable[ColumnElement[bool]]:
    """All but the time."""
    yield from in_place(given)
    if given.open is not None:
        lasts = drifts.c.ended_at.is_(None)
        yield lasts if given.open else ~lasts
    if given.application:
        yield applications.c.id == given.application
    if given.project:
        yield drifts.c.project == given.project
    if given.agent:
        yield or_(agents.c.id == given.agent, agents.c.name == given.agent)


def _entry(row: RowMapping, now: datetime) -> DriftEntry:
    lasted = (row["ended_at"] or now) - row["began_at"]
    return DriftEntry(
        id=row["id"],
        agent=row["agent_id"],
        agent_name=row["agent_name"],
        application=application_id(row["agent_id"], row["subject"]),
        subject=row["subject"],
        project=row["project"],
        environment=row["environment"],
        region=row["region"],
        object=row["object"],
        fields=[Field(path=it) for it in row["fields"]],
        actor=row["actor"],
        began_at=text_of(row["began_at"]),
        ended_at=text_of(row["ended_at"]),
        ended_how=row["ended_how"],
        seconds=max(0.0, lasted.total_seconds()),
    )


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
