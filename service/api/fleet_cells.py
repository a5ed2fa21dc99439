"""The fleet by environment and region: health, drift, agents, and how old what is known is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

from sqlalchemy import Row, case, func, select

from service.access.permissions import Permission
from service.api.call import Call
from service.api.endpoint import Answer
from service.api.fields import text_of
from service.api.places import ENVIRONMENT, REGION, PlaceFilter, in_place
from service.api.sight import visible_applications
from service.api.status import STALE_AFTER
from service.history.drifted import drifted
from service.store.tables import agents, applications

VIEW = Permission.APPLICATION_VIEW
Place = tuple[str, str]


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


async def cells_of(call: Call, given: PlaceFilter) -> list[Cell]:
    """Of the applications one may see, counted in the database."""
    place = (applications.c.environment, applications.c.region)
    query = (
        select(
            *place,
            applications.c.health,
            func.count().label("number"),
            func.sum(case((applications.c.sync == "OutOfSync", 1), else_=0)).label("out"),
            func.min(applications.c.as_of).label("as_of"),
        )
        .where(visible_applications(call.caller, VIEW), *in_place(given, *place))
        .group_by(*place, applications.c.health)
        .order_by(*place)
    )
    rows = (await call.connection.execute(query)).all()
    held, minutes = await _agents(call), await _drift_minutes(call, given)
    found: defaultdict[Place, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        found[row.environment, row.region].append(row)
    return [
        _cell(key, ones, held.get(key, (0, 0)), minutes.get(key, 0.0))
        for key, ones in found.items()
    ]


def counts_of(cells: Sequence[Cell]) -> Counts:
    health: defaultdict[str, int] = defaultdict(int)
    for cell in cells:
        for word, count in cell.health.items():
            health[word] += count
    return Counts(
        applications=sum(health.values()),
        out_of_sync=sum(it.out_of_sync for it in cells),
        health=dict(health),
    )


def _cell(key: Place, rows: Sequence[Row[Any]], held: tuple[int, int], minutes: float) -> Cell:
    return Cell(
        environment=key[0],
        region=key[1],
        health={it.health: it.number for it in rows},
        out_of_sync=sum(it.out for it in rows),
        drift_minutes_today=round(minutes, 1),
        agents=held[0],
        agents_connected=held[1],
        as_of=text_of(min(it.as_of for it in rows)),
    )


async def _agents(call: Call) -> Mapping[Place, tuple[int, int]]:
    """Of the applications one may see: how many agents, how many of them connected."""
    place = (applications.c.environment, applications.c.region)
    fresh = (
        agents.c.connected
        & (agents.c.heard_at > call.now - STALE_AFTER)
        & (agents.c.state != "revoked")
    )
    query = (
        select(
            *place,
            func.count(agents.c.id.distinct()).label("all"),
            func.count(case((fresh, agents.c.id)).distinct()).label("connected"),
        )
        .join(agents, agents.c.id == applications.c.agent_id)
        .where(visible_applications(call.caller, VIEW))
        .group_by(*place)
    )
    rows = (await call.connection.execute(query)).mappings().all()
    return {(it["environment"], it["region"]): (it["all"], it["connected"]) for it in rows}


async def _drift_minutes(call: Call, given: PlaceFilter) -> Mapping[Place, float]:
    """Since midnight, UTC."""
    midnight = call.now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    found: defaultdict[Place, float] = defaultdict(float)
    for one in await drifted(call, midnight, call.now, in_place(given, ENVIRONMENT, REGION)):
        found[one.environment, one.region] += one.minutes
    return found
