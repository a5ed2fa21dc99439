"""The fleet at a glance: what needs a person, each environment and region, the last pushes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Row, RowMapping, case, func, or_, select

from service.access.permissions import Permission
from service.api import applications as apps
from service.api.application_filters import ORDERS, Sort
from service.api.applications import Application
from service.api.call import Call
from service.api.commits import At, Commit, commits_of
from service.api.endpoint import Answer, Endpoint, Nothing
from service.api.fields import text_of
from service.api.fleet_pushes import FleetPush, recent_pushes, same_application
from service.api.sight import visible_applications
from service.api.status import STALE_AFTER
from service.store.tables import agents, applications, drifts

VIEW = Permission.APPLICATION_VIEW
_NEED_YOU = 50
_PUSHES = 10
_RECENT = timedelta(hours=24)


class NeedsYou(Answer, frozen=True, kw_only=True):
    application: Application
    since: str | None
    cause: str
    commit: str
    author: str
    message: str


class Cell(Answer, frozen=True, kw_only=True):
    environment: str
    region: str
    health: dict[str, int]
    out_of_sync: int
    drift_minutes_today: float
    agents: int
    agents_connected: int
    as_of: str | None
    """The oldest report in it."""


class Counts(Answer, frozen=True, kw_only=True):
    applications: int
    out_of_sync: int
    health: dict[str, int]


class Fleet(Answer, frozen=True, kw_only=True):
    as_of: str | None
    need_you: list[NeedsYou]
    cells: list[Cell]
    pushes: list[FleetPush]
    counts: Counts


async def get_fleet(call: Call, _given: Nothing) -> Fleet:
    """Everything one may see, counted in the database."""
    cells = await _cells(call)
    return Fleet(
        as_of=text_of(call.now),
        need_you=await _need_you(call),
        cells=cells,
        pushes=await recent_pushes(call),
        counts=_counts(cells),
    )


async def _need_you(call: Call) -> list[NeedsYou]:
    table = applications.c
    wanting = or_(
        table.health.in_(("Degraded", "Missing")),
        table.phase.in_(("Failed", "Error")),
        (table.sync == "OutOfSync") & table.automated.is_(False),
    )
    query = (
        apps.selected()
        .where(visible_applications(call.caller, VIEW), wanting)
        .order_by(*ORDERS[Sort.WORST].terms())
        .limit(_NEED_YOU)
    )
    rows = (await call.connection.execute(query)).mappings().all()
    commits = await commits_of(call, {_met(row) for row in rows})
    return [_needs(row, call, commits[_met(row)]) for row in rows]


def _met(row: RowMapping) -> At:
    return At(row["agent_id"], row["repository"], row["revision"])


def _needs(row: RowMapping, call: Call, commit: Commit) -> NeedsYou:
    failing = row["health"] in ("Degraded", "Missing")
    condition: Mapping[str, Any] = next(iter(row["conditions"]), {})
    cause = row["health_message"] or condition.get("message") or _plain_cause(row)
    return NeedsYou(
        application=apps.application_of(row, call),
        since=text_of(row["health_since"] if failing else row["sync_since"]),
        cause=cause,
        commit=commit.id,
        author=commit.author,
        message=commit.message,
    )


def _plain_cause(row: RowMapping) -> str:
    if row["phase"] in ("Failed", "Error"):
        return "the last sync failed"
    if row["health"] in ("Degraded", "Missing"):
        return f"it is {row['health']}"
    return "it differs from Git, and auto-sync is off"


async def _cells(call: Call) -> list[Cell]:
    place = (applications.c.environment, applications.c.region)
    query = (
        select(
            *place,
            applications.c.health,
            func.count().label("number"),
            func.sum(case((applications.c.sync == "OutOfSync", 1), else_=0)).label("out"),
            func.min(applications.c.as_of).label("as_of"),
        )
        .where(visible_applications(call.caller, VIEW))
        .group_by(*place, applications.c.health)
        .order_by(*place)
    )
    rows = (await call.connection.execute(query)).all()
    held = await _agents(call)
    drifted = await _drift_minutes(call)
    keys = list(dict.fromkeys((it.environment, it.region) for it in rows))
    return [
        _cell(
            key,
            [it for it in rows if (it.environment, it.region) == key],
            held.get(key, (0, 0)),
            drifted.get(key, 0.0),
        )
        for key in keys
    ]


def _cell(
    key: tuple[str, str], rows: Sequence[Row[Any]], held: tuple[int, int], drifted: float
) -> Cell:
    return Cell(
        environment=key[0],
        region=key[1],
        health={it.health: it.number for it in rows},
        out_of_sync=sum(it.out for it in rows),
        drift_minutes_today=round(drifted, 1),
        agents=held[0],
        agents_connected=held[1],
        as_of=text_of(min(it.as_of for it in rows)),
    )


async def _agents(call: Call) -> dict[tuple[str, str], tuple[int, int]]:
    """Of the applications one may see: how many agents, how many of them connected."""
    fresh = (
        agents.c.connected
        & (agents.c.heard_at > call.now - STALE_AFTER)
        & (agents.c.state != "revoked")
    )
    query = (
        select(
            applications.c.environment,
            applications.c.region,
            func.count(agents.c.id.distinct()).label("all"),
            func.count(case((fresh, agents.c.id)).distinct()).label("connected"),
        )
        .join(agents, agents.c.id == applications.c.agent_id)
        .where(visible_applications(call.caller, VIEW))
        .group_by(applications.c.environment, applications.c.region)
    )
    rows = (await call.connection.execute(query)).mappings().all()
    return {(it["environment"], it["region"]): (it["all"], it["connected"]) for it in rows}


async def _drift_minutes(call: Call) -> dict[tuple[str, str], float]:
    """Since midnight, UTC."""
    midnight = call.now.replace(hour=0, minute=0, second=0, microsecond=0)
    end = func.coalesce(drifts.c.ended_at, call.now)
    began = func.greatest(drifts.c.began_at, midnight)
    minutes = func.sum(func.extract("epoch", end - began)) / 60
    query = (
        select(applications.c.environment, applications.c.region, minutes.label("minutes"))
        .join(drifts, same_application(drifts))
        .where(visible_applications(call.caller, VIEW), end > midnight)
        .group_by(applications.c.environment, applications.c.region)
    )
    rows = (await call.connection.execute(query)).all()
    return {(it.environment, it.region): float(it.minutes or 0) for it in rows}


def _counts(cells: Sequence[Cell]) -> Counts:
    health: dict[str, int] = {}
    for cell in cells:
        for word, count in cell.health.items():
            health[word] = health.get(word, 0) + count
    return Counts(
        applications=sum(health.values()),
        out_of_sync=sum(it.out_of_sync for it in cells),
        health=health,
    )


ENDPOINTS = (Endpoint(method="GET", path="/fleet", needs=VIEW, handler=get_fleet, gives=Fleet),)
