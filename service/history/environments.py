"""Environments: where applications run, counted from what one may see."""

from __future__ import annotations

from sqlalchemy import func, select

from service.api.call import Call
from service.api.endpoint import Endpoint
from service.api.pages import Order, Page, rows_of
from service.api.places import PlaceQuery, in_place
from service.api.sight import visible_applications
from service.history.counted import Counts, counts, numbers, running, words
from service.history.visible import VIEW
from service.store.tables import applications


class Environment(Counts, frozen=True, kw_only=True):
    name: str
    regions: list[str]
    agents: int


async def list_environments(call: Call, given: PlaceQuery) -> Page[Environment]:
    """Where applications run, with what runs there."""
    pods, table = running(), applications.c
    query = (
        select(
            table.environment.label("name"),
            func.array_agg(table.region.distinct()).label("regions"),
            func.count(table.agent_id.distinct()).label("agents"),
            *counts(pods),
        )
        .outerjoin(pods, pods.c.application_id == table.id)
        .where(visible_applications(call.caller, VIEW))
        .where(*in_place(given, table.environment, table.region))
        .group_by(table.environment)
    )
    order = Order(columns=(table.environment,))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/environments")
    items = [
        Environment(
            name=row["name"], regions=words(row["regions"]), agents=row["agents"], **numbers(row)
        )
        for row in found.rows
    ]
    return Page(items=items, next=found.next)


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/environments",
        needs=VIEW,
        handler=list_environments,
        takes=PlaceQuery,
        gives=Page[Environment],
    ),
)
