"""Environments: where applications run, counted from what the caller may see."""

from __future__ import annotations

from sqlalchemy import func, select

from service.access.visibility import visible_applications
from service.api.history.instances import (
    InstanceCounts,
    InstanceCountsRow,
    count_values,
    counts,
    distinct_words,
    running,
)
from service.api.history.record_visibility import VIEW
from service.http.call import ApiCall
from service.http.endpoint import Endpoint
from service.http.fields import EnvironmentQuery, in_environment
from service.http.pages import Page, PagedList, PageOrder, read_page
from service.store.tables import applications


class Environment(InstanceCounts, frozen=True, kw_only=True):
    name: str
    regions: list[str]
    agents: int


class EnvironmentRow(InstanceCountsRow, frozen=True, kw_only=True):
    name: str
    regions: list[str]
    agents: int


async def list_environments(call: ApiCall, params: EnvironmentQuery) -> Page[Environment]:
    """List the environments with the applications and instances in each."""
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
        .where(*in_environment(params, table.environment, table.region))
        .group_by(table.environment)
    )
    paged = PagedList(
        name=f"{call.account}/environments",
        order=PageOrder(columns=(table.environment,)),
        into=EnvironmentRow,
    )
    found = await read_page(call.connection, query, params, paged)
    items = [
        Environment(
            name=row.name,
            regions=distinct_words(row.regions),
            agents=row.agents,
            **count_values(row),
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
        takes=EnvironmentQuery,
        gives=Page[Environment],
    ),
)
