"""The timeline: facts as they came, all or of one application; and the fleet as it was then."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec
from sqlalchemy import ColumnElement, RowMapping, Select, and_, or_, select
from sqlalchemy.dialects.postgresql import distinct_on

from service.api import applications as apps
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint
from service.api.fields import Text, text_of
from service.api.pages import Order, Page, rows_of
from service.api.places import ENVIRONMENT, REGION, PlaceFilter, PlaceQuery, in_place
from service.history.said import Said, in_order, short, whole
from service.history.then import TYPES, Was, fleet_at
from service.history.visible import VIEW, same_application, visible, visible_facts
from service.projection.applications import application_id
from service.projection.values import FactRow
from service.store.tables import agents, applications, facts

Time = Annotated[datetime, msgspec.Meta(tz=True)]
FIRST = datetime(2000, 1, 1, tzinfo=UTC)
"""Before there was anything: earlier times mean this one."""
_LOOK_BACK = timedelta(days=7)
_MOST = 200_000


class TimelineQuery(PlaceQuery, frozen=True, kw_only=True):
    """`since` counts, `until` does not; `type`: several, separated by commas; ids of things."""

    since: Time | None = None
    until: Time | None = None
    project: Text = ""
    agent: Text = ""
    application: Text = ""
    correlation: Text = ""
    type: Annotated[str, msgspec.Meta(max_length=1000)] = ""


class AtQuery(PlaceFilter, frozen=True, kw_only=True):
    time: Time


class TimelineFact(Answer, frozen=True, kw_only=True):
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
    time: str | None
    agent_time: str | None
    body: dict[str, Any]


class ApplicationThen(Answer, frozen=True, kw_only=True):
    id: str
    subject: str
    agent: str
    environment: str
    health: str
    sync: str
    revision: str


class FleetThen(Answer, frozen=True, kw_only=True):
    time: str | None
    applications: list[ApplicationThen]


_ORDER = Order(columns=(facts.c.time, facts.c.id), descending=True)


async def list_facts(call: Call, given: TimelineQuery) -> Page[TimelineFact]:
    """What happened, the newest first."""
    query = _selected().where(visible_facts(call), *_filters(given))
    found = await rows_of(call.connection, query, _ORDER, given, f"{call.account}/timeline")
    return Page(items=[_fact(row) for row in found.rows], next=found.next)


async def list_application_facts(call: Call, given: TimelineQuery) -> Page[TimelineFact]:
    """What happened to one application, the newest first."""
    row = await apps.find(call, call.id)
    subject = f"{row['namespace']}/{row['name']}"
    mine = and_(facts.c.agent_id == row["agent_id"], facts.c.subject == subject)
    query = _selected().where(mine, *_filters(given))
    place = f"{call.account}/applications/{call.id}/timeline"
    found = await rows_of(call.connection, query, _ORDER, given, place)
    return Page(items=[_fact(it) for it in found.rows], next=found.next)


async def get_fleet_at(call: Call, given: AtQuery) -> FleetThen:
    """Health and sync of every application one may see, as they were at a moment."""
    moment = max(given.time, FIRST)
    names = {row["agent_id"]: (row["name"], row["environment"]) for row in await _agents(call)}
    known, environments = await _unchanged(call, given, moment)
    fleet = fleet_at(known, await _facts_until(call, given, moment))
    items = [
        ApplicationThen(
            id=application_id(it.agent, it.subject),
            subject=it.subject,
            agent=names[it.agent][0],
            environment=environments.get((it.agent, it.subject), names[it.agent][1]),
            health=it.health,
            sync=it.sync,
            revision=it.revision,
        )
        for it in fleet
        if it.agent in names
    ]
    return FleetThen(time=text_of(given.time), applications=items)


def _selected() -> Select[Any]:
    return (
        select(facts, agents.c.name.label("agent_name"))
        .add_columns(ENVIRONMENT.label("environment"), REGION.label("region"))
        .join(agents, agents.c.id == facts.c.agent_id)
        .outerjoin(applications, same_application(facts))
    )


def _filters(given: TimelineQuery) -> Iterable[ColumnElement[bool]]:
    yield from in_place(given)
    if given.since is not None:
        yield facts.c.time >= given.since
    if given.until is not None:
        yield facts.c.time < given.until
    if given.project:
        yield facts.c.project == given.project
    if given.agent:
        yield or_(agents.c.id == given.agent, agents.c.name == given.agent)
    if given.application:
        yield applications.c.id == given.application
    if given.correlation:
        yield facts.c.correlation == given.correlation
    if given.type:
        yield facts.c.type.in_([whole(it) for it in given.type.split(",")])


def _fact(row: RowMapping) -> TimelineFact:
    return TimelineFact(
        id=str(row["id"]),
        event_id=row["event_id"],
        agent=row["agent_id"],
        agent_name=row["agent_name"],
        type=short(row["type"]),
        subject=row["subject"],
        project=row["project"],
        environment=row["environment"],
        region=row["region"],
        correlation=row["correlation"],
        time=text_of(row["time"]),
        agent_time=text_of(row["agent_time"]),
        body=row["body"],
    )


async def _agents(call: Call) -> list[RowMapping]:
    query = select(agents.c.id.label("agent_id"), agents.c.name, agents.c.environment).where(
        agents.c.account_id == call.account
    )
    return list((await call.connection.execute(query)).mappings())


async def _unchanged(
    call: Call, given: AtQuery, moment: datetime
) -> tuple[list[Was], dict[tuple[str, str], str]]:
    """What is as it is since before the moment; and where each application runs."""
    table = applications.c
    query = (
        select(table.agent_id, table.namespace, table.name, table.environment, table.sync)
        .add_columns(table.health, table.revision, table.sync_since, table.health_since)
        .join(agents, agents.c.id == table.agent_id)
        .where(visible(call), *in_place(given))
        .where(or_(table.sync_since <= moment, table.health_since <= moment))
    )
    rows = (await call.connection.execute(query)).all()
    known = [
        Was(
            agent=row.agent_id,
            subject=f"{row.namespace}/{row.name}",
            **({"sync": row.sync} if row.sync_since and row.sync_since <= moment else {}),
            **({"health": row.health} if row.health_since and row.health_since <= moment else {}),
        )
        for row in rows
    ]
    return known, {(it.agent_id, f"{it.namespace}/{it.name}"): it.environment for it in rows}


async def _facts_until(call: Call, given: AtQuery, moment: datetime) -> list[Said]:
    """The last of each type and application, not older than a week."""
    query = (
        _selected()
        .where(visible(call), facts.c.type.in_(TYPES), *in_place(given))
        .where(facts.c.time <= moment, facts.c.time > moment - _LOOK_BACK)
        .ext(distinct_on(facts.c.agent_id, facts.c.subject, facts.c.type))
        .order_by(facts.c.agent_id, facts.c.subject, facts.c.type)
        .order_by(facts.c.time.desc(), facts.c.event_id.desc())
        .limit(_MOST)
    )
    wanted = FactRow.__struct_fields__
    rows = (await call.connection.execute(query)).mappings()
    return [
        said
        for row in rows
        for said in in_order(row["agent_id"], [FactRow(**{name: row[name] for name in wanted})])
    ]


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
        path="/timeline/at",
        needs=VIEW,
        handler=get_fleet_at,
        takes=AtQuery,
        gives=FleetThen,
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
