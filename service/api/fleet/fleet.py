"""The fleet at a glance: applications that need a person, recent pushes, and cells.

A cell is an environment and region with its health, drift, agents, and the age of its reports.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from sqlalchemy import case, func, select

from bus.events.sentences import trouble_in_words
from service.access.permissions import Permission
from service.access.visibility import visible_applications
from service.api.applications.filters import ORDERS, ApplicationSort
from service.api.applications.summaries import (
    ApplicationRow,
    ApplicationSummary,
    applications_of,
    selected,
)
from service.api.fleet.pushes import FleetPush, recent_pushes
from service.api.history.drift_minutes import drifted
from service.gateway.agent_status import STALE_AFTER
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, ResponseModel
from service.http.fields import ENVIRONMENT, REGION, EnvironmentFilter, in_environment, text_of
from service.projection.application_status import Attention, held_condition, unreadable_condition
from service.store.rows import read_rows
from service.store.tables import agents, applications

VIEW = Permission.APPLICATION_VIEW
CellKey = tuple[str, str]
_NEED_YOU = 50
_OF_DESIRED = (Attention.UNREADABLE, Attention.SYNC_FAILED, Attention.OUT_OF_SYNC)
"""Troubles of the revision that is wanted; the others are of the one that runs."""


class FleetCell(ResponseModel, frozen=True, kw_only=True):
    environment: str
    region: str
    health: dict[str, int]
    out_of_sync: int
    drift_minutes_today: float
    agents: int
    agents_connected: int
    as_of: str
    """The oldest report in it."""


class FleetCounts(ResponseModel, frozen=True, kw_only=True):
    applications: int
    out_of_sync: int
    health: dict[str, int]


class CellRow(msgspec.Struct, frozen=True, kw_only=True):
    """How many applications of a cell have one state of health, and how many are out of sync."""

    environment: str
    region: str
    health: str
    number: int
    out: int
    as_of: datetime


async def cells_of(call: ApiCall, params: EnvironmentFilter) -> list[FleetCell]:
    """Count the cells of the applications that the caller may see, in the database."""
    cell_columns = (applications.c.environment, applications.c.region)
    query = (
        select(
            *cell_columns,
            applications.c.health,
            func.count().label("number"),
            func.sum(case((applications.c.sync == "OutOfSync", 1), else_=0)).label("out"),
            func.min(applications.c.as_of).label("as_of"),
        )
        .where(visible_applications(call.caller, VIEW), *in_environment(params, *cell_columns))
        .group_by(*cell_columns, applications.c.health)
        .order_by(*cell_columns)
    )
    rows = await read_rows(call.connection, query, CellRow)
    agent_counts, minutes = await _agents(call), await _drift_minutes(call, params)
    found: defaultdict[CellKey, list[CellRow]] = defaultdict(list)
    for row in rows:
        found[row.environment, row.region].append(row)
    return [
        _cell(key, ones, agent_counts.get(key, (0, 0)), minutes.get(key, 0.0))
        for key, ones in found.items()
    ]


def counts_of(cells: Sequence[FleetCell]) -> FleetCounts:
    health: defaultdict[str, int] = defaultdict(int)
    for cell in cells:
        for word, count in cell.health.items():
            health[word] += count
    return FleetCounts(
        applications=sum(health.values()),
        out_of_sync=sum(it.out_of_sync for it in cells),
        health=dict(health),
    )


def _cell(
    key: CellKey, rows: Sequence[CellRow], agent_counts: tuple[int, int], minutes: float
) -> FleetCell:
    return FleetCell(
        environment=key[0],
        region=key[1],
        health={it.health: it.number for it in rows},
        out_of_sync=sum(it.out for it in rows),
        drift_minutes_today=round(minutes, 1),
        agents=agent_counts[0],
        agents_connected=agent_counts[1],
        as_of=text_of(min(it.as_of for it in rows)),
    )


async def _agents(call: ApiCall) -> Mapping[CellKey, tuple[int, int]]:
    """Count the agents of each cell, and those of them that are connected."""
    cell_columns = (applications.c.environment, applications.c.region)
    fresh = (
        agents.c.connected
        & (agents.c.heard_at > call.now - STALE_AFTER)
        & (agents.c.state != "revoked")
    )
    query = (
        select(
            *cell_columns,
            func.count(agents.c.id.distinct()).label("all"),
            func.count(case((fresh, agents.c.id)).distinct()).label("connected"),
        )
        .join(agents, agents.c.id == applications.c.agent_id)
        .where(visible_applications(call.caller, VIEW))
        .group_by(*cell_columns)
    )
    rows = (await call.connection.execute(query)).all()
    return {(it.environment, it.region): (it.all, it.connected) for it in rows}


async def _drift_minutes(call: ApiCall, params: EnvironmentFilter) -> Mapping[CellKey, float]:
    """Since midnight, UTC."""
    midnight = call.now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    found: defaultdict[CellKey, float] = defaultdict(float)
    for one in await drifted(call, midnight, call.now, in_environment(params, ENVIRONMENT, REGION)):
        found[one.environment, one.region] += one.minutes
    return found


class ApplicationNeedingAction(ResponseModel, frozen=True, kw_only=True):
    application: ApplicationSummary
    since: str
    cause: str
    commit: str
    author: str
    message: str


class Fleet(ResponseModel, frozen=True, kw_only=True):
    as_of: str
    need_you: list[ApplicationNeedingAction]
    cells: list[FleetCell]
    pushes: list[FleetPush]
    counts: FleetCounts


async def get_fleet(call: ApiCall, params: EnvironmentFilter) -> Fleet:
    """Get the fleet: applications that need a person, cells by environment, recent pushes."""
    cells = await cells_of(call, params)
    return Fleet(
        as_of=text_of(call.now),
        need_you=await _need_you(call, params),
        cells=cells,
        pushes=await recent_pushes(call, params),
        counts=counts_of(cells),
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/fleet",
        needs=VIEW,
        handler=get_fleet,
        takes=EnvironmentFilter,
        gives=Fleet,
    ),
)


async def _need_you(call: ApiCall, params: EnvironmentFilter) -> list[ApplicationNeedingAction]:
    query = (
        selected()
        .where(visible_applications(call.caller, VIEW), applications.c.attention != "")
        .where(*in_environment(params))
        .order_by(*ORDERS[ApplicationSort.WORST].terms())
        .limit(_NEED_YOU)
    )
    rows = await read_rows(call.connection, query, ApplicationRow)
    found = await applications_of(rows, call)
    return [_needs(row, one) for row, one in zip(rows, found, strict=True)]


def _needs(row: ApplicationRow, one: ApplicationSummary) -> ApplicationNeedingAction:
    since, cause = _why(row, one)
    is_of_desired = one.attention in _OF_DESIRED or not one.running.revision
    commit = (one.wanted if is_of_desired else one.running).commit
    return ApplicationNeedingAction(
        application=one,
        since=since or one.as_of,
        cause=cause,
        commit=commit.id,
        author=commit.author,
        message=commit.message,
    )


def _why(row: ApplicationRow, one: ApplicationSummary) -> tuple[str | None, str]:
    """Since when, and a sentence."""
    failure = one.sync_failure
    match one.attention:
        case Attention.SYNC_FAILED if failure is not None:
            return failure.since, trouble_in_words(failure.object, "", failure.message)
        case Attention.UNREADABLE:
            condition = unreadable_condition({"conditions": row.conditions})
            return condition.get("since"), str(condition.get("message") or "")
        case Attention.OUT_OF_SYNC:
            held = str(held_condition({"conditions": row.conditions}).get("message") or "")
            return one.sync_since, held or "It differs from Git, and auto-sync is off."
        case _ if one.cause is not None:
            return one.cause.since or one.health_since, trouble_in_words(
                one.cause.object, one.cause.reason, one.cause.message
            )
        case _:
            return one.health_since, one.health_message or f"It is {one.health}."
