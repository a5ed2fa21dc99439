"""The fleet at a past moment: health and sync of each application, folded from the facts.

An application that has not changed since is read from the projection. For every other one the last
fact of each type up to the moment counts; facts older than a week are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace
from sqlalchemy import or_, select
from sqlalchemy.dialects.postgresql import distinct_on

from bus.events import AppDeleted, Compared, HealthAssessed
from bus.events.event import Event, wire_type
from bus.status import HealthStatus, SyncStatus
from service.api.history.record_visibility import VIEW, visible
from service.api.history.timeline import FIRST, Time, facts_selected
from service.history.recorded_facts import RecordedFact, in_order
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, ResponseModel
from service.http.fields import EnvironmentFilter, in_environment, text_of
from service.projection.applications import application_id
from service.projection.batch import FactRow
from service.store.rows import read_rows
from service.store.tables import agents, applications, facts

_LOOK_BACK = timedelta(days=7)
_MOST = 200_000
_TYPES = tuple(wire_type(it) for it in (Compared, HealthAssessed, AppDeleted))

Key = tuple[str, str]
"""An agent's id and `namespace/name`."""


class AgentFactRow(FactRow, frozen=True, kw_only=True):
    agent_id: str


class StateAtTime(msgspec.Struct, frozen=True, kw_only=True):
    agent: str
    subject: str
    sync: SyncStatus = SyncStatus.UNKNOWN
    health: HealthStatus = HealthStatus.UNKNOWN
    revision: str = ""


class AtQuery(EnvironmentFilter, frozen=True, kw_only=True):
    time: Time


class ApplicationAtTime(ResponseModel, frozen=True, kw_only=True):
    id: str
    subject: str
    agent: str
    environment: str
    health: HealthStatus
    sync: SyncStatus
    revision: str


class FleetAtTime(ResponseModel, frozen=True, kw_only=True):
    time: str
    applications: list[ApplicationAtTime]


async def get_fleet_at(call: ApiCall, params: AtQuery) -> FleetAtTime:
    """Get health and sync of every application of the fleet at a past moment."""
    time = max(params.time, FIRST)
    names = await _agents(call)
    known, environments = await _unchanged(call, params, time)
    fleet = fold_fleet(known, await _facts_until(call, params, time))
    items = [
        ApplicationAtTime(
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
    return FleetAtTime(time=text_of(params.time), applications=items)


def fold_fleet(
    known: Iterable[StateAtTime], facts: Iterable[RecordedFact]
) -> tuple[StateAtTime, ...]:
    """`known`: what has not changed since before the moment; `facts`: none later than it."""
    fleet: dict[Key, StateAtTime] = {(it.agent, it.subject): it for it in known}
    for one in sorted(facts, key=lambda it: it.order):
        key = one.agent, one.subject
        if isinstance(one.fact, AppDeleted):
            fleet.pop(key, None)
            continue
        before = fleet.get(key) or StateAtTime(agent=one.agent, subject=one.subject)
        fleet[key] = _after(before, one.fact)
    return tuple(fleet[key] for key in sorted(fleet))


def _after(was: StateAtTime, fact: Event) -> StateAtTime:
    match fact:
        case Compared():
            return replace(was, sync=fact.status, revision=fact.revision)
        case HealthAssessed():
            return replace(was, health=fact.status)
        case _:
            return was


async def _agents(call: ApiCall) -> dict[str, tuple[str, str]]:
    """Name and environment of each agent of the account, by its id."""
    query = select(agents.c.id, agents.c.name, agents.c.environment)
    rows = await call.connection.execute(query.where(agents.c.account_id == call.account))
    return {row.id: (row.name, row.environment) for row in rows}


async def _unchanged(
    call: ApiCall, params: AtQuery, time: datetime
) -> tuple[list[StateAtTime], dict[tuple[str, str], str]]:
    """Read the states that are older than the moment, and where each application runs."""
    table = applications.c
    query = (
        select(table.agent_id, table.namespace, table.name, table.environment, table.sync)
        .add_columns(table.health, table.revision, table.sync_since, table.health_since)
        .join(agents, agents.c.id == table.agent_id)
        .where(visible(call), *in_environment(params))
        .where(or_(table.sync_since <= time, table.health_since <= time))
    )
    rows = (await call.connection.execute(query)).all()
    known = [
        StateAtTime(
            agent=row.agent_id,
            subject=f"{row.namespace}/{row.name}",
            **({"sync": row.sync} if row.sync_since and row.sync_since <= time else {}),
            **({"health": row.health} if row.health_since and row.health_since <= time else {}),
        )
        for row in rows
    ]
    return known, {(it.agent_id, f"{it.namespace}/{it.name}"): it.environment for it in rows}


async def _facts_until(call: ApiCall, params: AtQuery, time: datetime) -> list[RecordedFact]:
    """Read the last fact of each type and application, not older than a week."""
    # DISTINCT ON keeps the last row of each application and type, so a week of facts comes back as
    # three rows an application. The order must begin with the same columns.
    query = (
        facts_selected()
        .where(visible(call), facts.c.type.in_(_TYPES), *in_environment(params))
        .where(facts.c.time <= time, facts.c.time > time - _LOOK_BACK)
        .ext(distinct_on(facts.c.agent_id, facts.c.subject, facts.c.type))
        .order_by(facts.c.agent_id, facts.c.subject, facts.c.type)
        .order_by(facts.c.time.desc(), facts.c.event_id.desc())
        .limit(_MOST)
    )
    rows = await read_rows(call.connection, query, AgentFactRow)
    return [fact for row in rows for fact in in_order(row.agent_id, [row])]


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/timeline/at",
        needs=VIEW,
        handler=get_fleet_at,
        takes=AtQuery,
        gives=FleetAtTime,
    ),
)
