"""The timeline: the facts that agents reported, of all applications or of one of them.

Facts are shown with the environment and region of their application, or of their agent where the
application is gone. What can be read of the fleet at a past moment stands in `fleet_at_time`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from sqlalchemy import ColumnElement, Select, and_, or_, select

from bus.events.event import recorded_event
from service.api.applications import applications as apps
from service.api.history.record_visibility import VIEW, same_application, visible_facts
from service.history.recorded_facts import short, whole
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, ResponseModel
from service.http.fields import ENVIRONMENT, REGION, EnvironmentQuery, Text, in_environment, text_of
from service.http.pages import Page, PagedList, PageOrder, read_page
from service.store.tables import agents, applications, facts

Time = Annotated[datetime, msgspec.Meta(tz=True)]
FIRST = datetime(2000, 1, 1, tzinfo=UTC)
"""Before there was anything: earlier times mean this one."""


class TimelineQuery(EnvironmentQuery, frozen=True, kw_only=True):
    """`since` counts, `until` does not; `type`: several, separated by commas; ids of things."""

    since: Time | None = None
    until: Time | None = None
    project: Text = ""
    agent: Text = ""
    application: Text = ""
    correlation: Text = ""
    type: Annotated[str, msgspec.Meta(max_length=1000)] = ""


class TimelineFact(ResponseModel, frozen=True, kw_only=True):
    """`type` as in docs/events.md; `agent` is its id; `event_id` the fact's own, as on the bus.

    `time` is by the service's clock; `agent_time` what the agent told, where the clocks are apart.
    """

    id: str
    event_id: str
    agent: str
    agent_name: str
    type: str
    subject: str
    project: str
    environment: str
    region: str
    correlation: str
    time: str
    agent_time: str | None
    sentence: str
    """What happened, in words; the type's words where this version does not know the type."""
    body: dict[str, Any]


_ORDER = PageOrder(columns=(facts.c.time, facts.c.id), descending=True)


class TimelineRow(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    event_id: str
    agent_id: str
    agent_name: str
    type: str
    subject: str
    project: str
    environment: str
    region: str
    correlation: str
    time: datetime
    agent_time: datetime | None
    body: dict[str, Any]


async def list_facts(call: ApiCall, params: TimelineQuery) -> Page[TimelineFact]:
    """List the facts of the timeline, the newest first."""
    query = facts_selected().where(visible_facts(call), *_filters(params))
    paged = PagedList(name=f"{call.account}/timeline", order=_ORDER, into=TimelineRow)
    found = await read_page(call.connection, query, params, paged)
    return found.page(_fact)


async def list_application_facts(call: ApiCall, params: TimelineQuery) -> Page[TimelineFact]:
    """List the facts of one application, the newest first."""
    row = await apps.find(call, call.id)
    mine = and_(facts.c.agent_id == row.agent_id, facts.c.subject == row.subject)
    query = facts_selected().where(mine, *_filters(params))
    paged = PagedList(
        name=f"{call.account}/applications/{call.id}/timeline", order=_ORDER, into=TimelineRow
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(_fact)


def facts_selected() -> Select[Any]:
    return (
        select(facts, agents.c.name.label("agent_name"))
        .add_columns(ENVIRONMENT.label("environment"), REGION.label("region"))
        .join(agents, agents.c.id == facts.c.agent_id)
        .outerjoin(applications, same_application(facts))
    )


def _filters(params: TimelineQuery) -> Iterable[ColumnElement[bool]]:
    yield from in_environment(params)
    if params.since is not None:
        yield facts.c.time >= params.since
    if params.until is not None:
        yield facts.c.time < params.until
    if params.project:
        yield facts.c.project == params.project
    if params.agent:
        yield or_(agents.c.id == params.agent, agents.c.name == params.agent)
    if params.application:
        yield applications.c.id == params.application
    if params.correlation:
        yield facts.c.correlation == params.correlation
    if params.type:
        yield facts.c.type.in_([whole(it) for it in params.type.split(",")])


def _fact(row: TimelineRow) -> TimelineFact:
    return TimelineFact(
        id=str(row.id),
        event_id=row.event_id,
        agent=row.agent_id,
        agent_name=row.agent_name,
        type=short(row.type),
        subject=row.subject,
        project=row.project,
        environment=row.environment,
        region=row.region,
        correlation=row.correlation,
        time=text_of(row.time),
        agent_time=text_of(row.agent_time),
        sentence=_sentence(row.type, row.body),
        body=row.body,
    )


def _sentence(wire_type: str, body: dict[str, Any]) -> str:
    fact = recorded_event(wire_type, body)
    return fact.sentence if fact else " ".join(short(wire_type).split(".")[:-1])


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/timeline",
        needs=VIEW,
        handler=list_facts,
        takes=TimelineQuery,
        gives=Page[TimelineFact],
    ),
    Endpoint(
        method="GET",
        path="/applications/{id}/timeline",
        needs=VIEW,
        handler=list_application_facts,
        takes=TimelineQuery,
        gives=Page[TimelineFact],
    ),
)
