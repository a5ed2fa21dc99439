"""Instances: the pods of applications, listed, and counted as parts of queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Subquery, and_, func, select

from bus.link.kinds import APPLICATION
from service.access.visibility import visible_applications
from service.api.history.record_visibility import VIEW
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, ResponseModel
from service.http.fields import EnvironmentQuery, Text, in_environment, text_of
from service.http.pages import Page, PagedList, PageOrder, read_page
from service.store.tables import agents, applications, epochs, instances, objects


class InstanceCounts(ResponseModel, frozen=True, kw_only=True):
    """`ready` of the `instances`; `healthy` and `outOfSync` of the `applications`."""

    applications: int
    instances: int
    ready: int
    healthy: int
    out_of_sync: int


class InstanceCountsRow(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of `counts`; PostgreSQL sums integers as numeric."""

    applications: int
    instances: Decimal
    ready: Decimal
    healthy: int
    out_of_sync: int


def reported(kind: str, value: ColumnElement[Any]) -> Any:
    """`value`, of `objects`, in the believed state of this kind; correlated with `applications`."""
    believed = and_(epochs.c.agent_id == objects.c.agent_id, epochs.c.epoch == objects.c.epoch)
    return (
        select(value)
        .join(epochs, and_(believed, epochs.c.state == "active"))
        .where(
            objects.c.agent_id == applications.c.agent_id,
            objects.c.kind == kind,
            objects.c.subject == applications.c.namespace + "/" + applications.c.name,
        )
        .correlate(applications)
        .limit(1)
        .scalar_subquery()
    )


def deployed() -> ColumnElement[str]:
    """Select the commit that was synced last; `revision` may be a newer one."""
    last = objects.c.body[("status", "history", -1, "revision")].astext
    return func.coalesce(reported(APPLICATION.name, last), applications.c.revision)


def running() -> Subquery:
    """Pods by application."""
    return (
        select(
            instances.c.application_id,
            func.count().label("pods"),
            func.count().filter(instances.c.ready).label("ready"),
        )
        .group_by(instances.c.application_id)
        .subquery()
    )


def counts(running: Subquery) -> tuple[ColumnElement[Any], ...]:
    """Select the counts of applications and of their pods, which are joined."""
    table = applications.c
    return (
        func.count().label("applications"),
        func.coalesce(func.sum(running.c.pods), 0).label("instances"),
        func.coalesce(func.sum(running.c.ready), 0).label("ready"),
        func.count().filter(table.health == "Healthy").label("healthy"),
        func.count().filter(table.sync == "OutOfSync").label("out_of_sync"),
    )


def count_values(row: InstanceCountsRow) -> dict[str, int]:
    return {name: int(getattr(row, name)) for name in InstanceCounts.__struct_fields__}


def distinct_words(values: Iterable[str]) -> list[str]:
    return sorted({it for it in values if it})


class InstancesQuery(EnvironmentQuery, frozen=True, kw_only=True):
    """`application`: its id."""

    service: Text = ""
    application: Text = ""


class Instance(ResponseModel, frozen=True, kw_only=True):
    """A pod that runs, or is about to; `revision`: the commit that was synced last."""

    uid: str
    agent: str
    application: str
    application_name: str
    service: str
    environment: str
    region: str
    namespace: str
    pod: str
    images: list[str]
    revision: str
    ready: bool
    started_at: str | None


class InstanceRow(msgspec.Struct, frozen=True, kw_only=True):
    uid: str
    agent_name: str
    application_id: str
    application_name: str
    service: str
    environment: str
    region: str
    namespace: str
    pod: str
    images: list[str]
    revision: str
    ready: bool
    started_at: datetime | None


async def list_instances(call: ApiCall, params: InstancesQuery) -> Page[Instance]:
    """List the running instances (pods) with image and commit, at most 500 an application."""
    table = applications.c
    query = (
        select(instances, agents.c.name.label("agent_name"), table.name.label("application_name"))
        .add_columns(table.service, table.environment, table.region)
        .add_columns(deployed().label("revision"))
        .join(applications, table.id == instances.c.application_id)
        .join(agents, agents.c.id == instances.c.agent_id)
        .where(visible_applications(call.caller, VIEW), *_filters(params))
    )
    paged = PagedList(
        name=f"{call.account}/instances",
        order=PageOrder(columns=(instances.c.namespace, instances.c.pod, instances.c.uid)),
        into=InstanceRow,
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(_instance)


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/instances",
        needs=VIEW,
        handler=list_instances,
        takes=InstancesQuery,
        gives=Page[Instance],
    ),
)


def _filters(params: InstancesQuery) -> Iterator[ColumnElement[bool]]:
    table = applications.c
    yield from in_environment(params, table.environment, table.region)
    if params.service:
        yield table.service.in_(params.service.split(","))
    if params.application:
        yield table.id == params.application


def _instance(row: InstanceRow) -> Instance:
    return Instance(
        uid=row.uid,
        agent=row.agent_name,
        application=row.application_id,
        application_name=row.application_name,
        service=row.service,
        environment=row.environment,
        region=row.region,
        namespace=row.namespace,
        pod=row.pod,
        images=list(row.images),
        revision=row.revision,
        ready=row.ready,
        started_at=text_of(row.started_at),
    )
