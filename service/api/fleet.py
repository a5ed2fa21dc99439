"""The fleet at a glance: what needs a person, each environment and region, the last pushes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import RowMapping, or_

from service.access.permissions import Permission
from service.api import applications as apps
from service.api.application_filters import ORDERS, Sort
from service.api.applications import Application
from service.api.call import Call
from service.api.commits import At, Commit, commits_of
from service.api.endpoint import Answer, Endpoint
from service.api.fields import text_of
from service.api.fleet_cells import Cell, Counts, cells_of, counts_of
from service.api.fleet_pushes import FleetPush, recent_pushes
from service.api.places import PlaceFilter, in_place
from service.api.sight import visible_applications
from service.store.tables import applications

VIEW = Permission.APPLICATION_VIEW
_NEED_YOU = 50


class NeedsYou(Answer, frozen=True, kw_only=True):
    application: Application
    since: str | None
    cause: str
    commit: str
    author: str
    message: str


class Fleet(Answer, frozen=True, kw_only=True):
    as_of: str | None
    need_you: list[NeedsYou]
    cells: list[Cell]
    pushes: list[FleetPush]
    counts: Counts


async def get_fleet(call: Call, given: PlaceFilter) -> Fleet:
    """Everything one may see, or of some environments and regions, counted in the database."""
    cells = await cells_of(call, given)
    return Fleet(
        as_of=text_of(call.now),
        need_you=await _need_you(call, given),
        cells=cells,
        pushes=await recent_pushes(call, given),
        counts=counts_of(cells),
    )


async def _need_you(call: Call, given: PlaceFilter) -> list[NeedsYou]:
    table = applications.c
    wanting = or_(
        table.health.in_(("Degraded", "Missing")),
        table.phase.in_(("Failed", "Error")),
        (table.sync == "OutOfSync") & table.automated.is_(False),
    )
    query = (
        apps.selected()
        .where(visible_applications(call.caller, VIEW), wanting, *in_place(given))
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


ENDPOINTS = (
    Endpoint(
        method="GET", path="/fleet", needs=VIEW, handler=get_fleet, takes=PlaceFilter, gives=Fleet
    ),
)
