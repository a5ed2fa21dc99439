"""The fleet at a glance: what needs a person, each environment and region, the last pushes."""

from __future__ import annotations

from sqlalchemy import RowMapping

from service.access.permissions import Permission
from service.api import applications as apps
from service.api.application_filters import ORDERS, Sort
from service.api.applications import Application
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint
from service.api.fields import text_of
from service.api.fleet_cells import Cell, Counts, cells_of, counts_of
from service.api.fleet_pushes import FleetPush, recent_pushes
from service.api.places import PlaceFilter, in_place
from service.api.sight import visible_applications
from service.projection.attention import Attention, held_condition, unreadable_condition
from service.store.tables import applications

VIEW = Permission.APPLICATION_VIEW
_NEED_YOU = 50
_SLASHES = 3
_OF_WANTED = (Attention.UNREADABLE, Attention.SYNC_FAILED, Attention.OUT_OF_SYNC)
"""Troubles of the revision that is wanted; the others are of the one that runs."""


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
    query = (
        apps.selected()
        .where(visible_applications(call.caller, VIEW), applications.c.attention != "")
        .where(*in_place(given))
        .order_by(*ORDERS[Sort.WORST].terms())
        .limit(_NEED_YOU)
    )
    rows = (await call.connection.execute(query)).mappings().all()
    found = await apps.applications_of(rows, call)
    return [_needs(row, one) for row, one in zip(rows, found, strict=True)]


def _needs(row: RowMapping, one: Application) -> NeedsYou:
    since, cause = _why(row, one)
    is_of_wanted = one.attention in _OF_WANTED or not one.running.revision
    commit = (one.wanted if is_of_wanted else one.running).commit
    return NeedsYou(
        application=one,
        since=since or one.as_of,
        cause=cause,
        commit=commit.id,
        author=commit.author,
        message=commit.message,
    )


def _why(row: RowMapping, one: Application) -> tuple[str | None, str]:
    """Since when, and a sentence."""
    failure = one.sync_failure
    match one.attention:
        case Attention.SYNC_FAILED if failure is not None:
            return failure.since, sentence(failure.object, "", failure.message)
        case Attention.UNREADABLE:
            condition = unreadable_condition({"conditions": row["conditions"]})
            return condition.get("since"), str(condition.get("message") or "")
        case Attention.OUT_OF_SYNC:
            held = str(held_condition({"conditions": row["conditions"]}).get("message") or "")
            return one.sync_since, held or "It differs from Git, and auto-sync is off."
        case _ if one.cause is not None:
            return one.cause.since or one.health_since, sentence(
                one.cause.object, one.cause.reason, one.cause.message
            )
        case _:
            return one.health_since, one.health_message or f"It is {one.health}."


def sentence(object_: str, reason: str, message: str) -> str:
    """`Pod web-x: ImagePullBackOff: not found`; what is not known is left out."""
    _, kind, _, name = object_.split("/", 3) if object_.count("/") >= _SLASHES else ("",) * 4
    return ": ".join(part for part in (f"{kind} {name}".strip(), reason, message) if part)


ENDPOINTS = (
    Endpoint(
        method="GET", path="/fleet", needs=VIEW, handler=get_fleet, takes=PlaceFilter, gives=Fleet
    ),
)
