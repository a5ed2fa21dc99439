"""The drift ledger for readers: each drift, and the minutes of drift by day."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, or_, select

from service.api.history.drift_minutes import drifted, within
from service.api.history.record_visibility import VIEW, same_application, visible
from service.api.history.timeline import FIRST, Time
from service.history.ledger import EndedHow
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, ResponseModel
from service.http.fields import ENVIRONMENT, REGION, EnvironmentQuery, Text, in_environment, text_of
from service.http.pages import Page, PagedList, PageOrder, read_page
from service.projection.applications import application_id
from service.store.tables import agents, applications, drifts

_WEEK = timedelta(days=7)
_LONGEST = timedelta(days=92)


class DriftsQuery(EnvironmentQuery, frozen=True, kw_only=True):
    """`open`: only those that last, or only those that ended; `application`: its id."""

    open: bool | None = None
    since: Time | None = None
    until: Time | None = None
    application: Text = ""
    project: Text = ""
    agent: Text = ""


class MinutesQuery(DriftsQuery, frozen=True, kw_only=True):
    """Without `since`: of the last week."""


class DriftField(ResponseModel, frozen=True, kw_only=True):
    """Values do not leave the cluster."""

    path: str


class DriftEntry(ResponseModel, frozen=True, kw_only=True):
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
    fields: list[DriftField]
    actor: str
    began_at: str
    ended_at: str | None
    ended_how: EndedHow
    seconds: float


class DriftMinutes(ResponseModel, frozen=True, kw_only=True):
    day: str
    application: str
    subject: str
    environment: str
    region: str
    minutes: float


class DriftRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    agent_id: str
    agent_name: str
    subject: str
    project: str
    environment: str
    region: str
    object: str
    fields: list[str]
    actor: str
    began_at: datetime
    ended_at: datetime | None
    ended_how: str


async def list_drifts(call: ApiCall, params: DriftsQuery) -> Page[DriftEntry]:
    """List the drifts of applications, the newest first."""
    ones = (*within(params.since, params.until), *_filters(params))
    query = _selected().where(visible(call), *ones)
    paged = PagedList(
        name=f"{call.account}/drifts",
        order=PageOrder(columns=(drifts.c.began_at, drifts.c.id), descending=True),
        into=DriftRow,
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(lambda row: _entry(row, call.now))


async def list_drift_minutes(call: ApiCall, params: MinutesQuery) -> Page[DriftMinutes]:
    """List the drift minutes of each application by day (UTC), the newest day first."""
    until = max(FIRST, min(params.until or call.now, call.now))
    since = max(params.since or until - _WEEK, until - _LONGEST)
    items = [
        DriftMinutes(
            day=it.day.isoformat(),
            application=it.application,
            subject=it.subject,
            environment=it.environment,
            region=it.region,
            minutes=round(it.minutes, 2),
        )
        for it in await drifted(call, since, until, _filters(params))
    ]
    return Page(items=items)


def _selected() -> Select[Any]:
    return (
        select(drifts, agents.c.name.label("agent_name"))
        .add_columns(ENVIRONMENT.label("environment"), REGION.label("region"))
        .join(agents, agents.c.id == drifts.c.agent_id)
        .outerjoin(applications, same_application(drifts))
    )


def _filters(params: DriftsQuery) -> Iterable[ColumnElement[bool]]:
    """All but the time."""
    yield from in_environment(params)
    if params.open is not None:
        lasts = drifts.c.ended_at.is_(None)
        yield lasts if params.open else ~lasts
    if params.application:
        yield applications.c.id == params.application
    if params.project:
        yield drifts.c.project == params.project
    if params.agent:
        yield or_(agents.c.id == params.agent, agents.c.name == params.agent)


def _entry(row: DriftRow, now: datetime) -> DriftEntry:
    lasted = (row.ended_at or now) - row.began_at
    return DriftEntry(
        id=row.id,
        agent=row.agent_id,
        agent_name=row.agent_name,
        application=application_id(row.agent_id, row.subject),
        subject=row.subject,
        project=row.project,
        environment=row.environment,
        region=row.region,
        object=row.object,
        fields=[DriftField(path=it) for it in row.fields],
        actor=row.actor,
        began_at=text_of(row.began_at),
        ended_at=text_of(row.ended_at),
        ended_how=EndedHow(row.ended_how),
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
