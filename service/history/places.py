"""Services, environments and service instances: what runs where, counted from what one may see."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, func, select

from service.api.call import Call
from service.api.endpoint import Answer, Endpoint
from service.api.fields import Text, text_of
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.sight import visible_applications
from service.history.visible import VIEW
from service.store.tables import agents, applications, instances


class InstancesQuery(PageQuery, frozen=True, kw_only=True):
    service: Text = ""
    environment: Text = ""
    region: Text = ""
    application: Text = ""


class ServicesQuery(PageQuery, frozen=True, kw_only=True):
    environment: Text = ""
    region: Text = ""


class Instance(Answer, frozen=True, kw_only=True):
    """A pod that runs; `revision`: the commit of its application."""

    uid: str
    agent: str
    application: str
    service: str
    environment: str
    region: str
    namespace: str
    pod: str
    images: list[str]
    revision: str
    ready: bool
    started_at: str | None


class ServiceOf(Answer, frozen=True, kw_only=True):
    """Applications without a service's label are no service."""

    name: str
    applications: int
    instances: int
    ready: int
    environments: list[str]
    images: list[str]
    healthy: int
    out_of_sync: int


class Environment(Answer, frozen=True, kw_only=True):
    name: str
    regions: list[str]
    agents: int
    applications: int
    instances: int
    healthy: int
    out_of_sync: int


async def list_instances(call: Call, given: InstancesQuery) -> Page[Instance]:
    """Pods that run, with image and commit."""
    table = applications.c
    query = (
        select(instances, agents.c.name.label("agent_name"), table.service, table.environment)
        .add_columns(table.region, table.revision)
        .join(applications, table.id == instances.c.application_id)
        .join(agents, agents.c.id == instances.c.agent_id)
        .where(visible_applications(call.caller, VIEW), *_filters(given))
    )
    order = Order(columns=(instances.c.namespace, instances.c.pod, instances.c.uid))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/instances")
    return Page(items=[_instance(row) for row in found.rows], next=found.next)


async def list_services(call: Call, given: ServicesQuery) -> Page[ServiceOf]:
    """By the label gitops.house/service, with what runs of each."""
    running, table = _running(), applications.c
    images = func.array_to_string(table.images, ",")
    query = (
        select(
            table.service.label("name"),
            func.array_agg(table.environment.distinct()).label("environments"),
            func.string_agg(images, ",").label("images"),
            *_counts(running),
        )
        .outerjoin(running, running.c.application_id == table.id)
        .where(visible_applications(call.caller, VIEW), table.service != "", *_filters(given))
        .group_by(table.service)
    )
    order = Order(columns=(table.service,))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/services")
    return Page(items=[_service(row) for row in found.rows], next=found.next)


async def list_environments(call: Call, given: PageQuery) -> Page[Environment]:
    """Where applications run, with what runs there."""
    running, table = _running(), applications.c
    query = (
        select(
            table.environment.label("name"),
            func.array_agg(table.region.distinct()).label("regions"),
            func.count(table.agent_id.distinct()).label("agents"),
            *_counts(running),
        )
        .outerjoin(running, running.c.application_id == table.id)
        .where(visible_applications(call.caller, VIEW))
        .group_by(table.environment)
    )
    order = Order(columns=(table.environment,))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/environments")
    items = [
        Environment(regions=_words(row["regions"]), agents=row["agents"], **_plain(row))
        for row in found.rows
    ]
    return Page(items=items, next=found.next)


def _running() -> Any:
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


def _counts(running: Any) -> tuple[ColumnElement[Any], ...]:
    table = applications.c
    return (
        func.count().label("applications"),
        func.coalesce(func.sum(running.c.pods), 0).label("instances"),
        func.coalesce(func.sum(running.c.ready), 0).label("ready"),
        func.count().filter(table.health == "Healthy").label("healthy"),
        func.count().filter(table.sync == "OutOfSync").label("out_of_sync"),
    )


def _filters(given: InstancesQuery | ServicesQuery) -> Iterable[ColumnElement[bool]]:
    table = applications.c
    if given.environment:
        yield table.environment.in_(given.environment.split(","))
    if given.region:
        yield table.region.in_(given.region.split(","))
    if isinstance(given, InstancesQuery) and given.service:
        yield table.service.in_(given.service.split(","))
    if isinstance(given, InstancesQuery) and given.application:
        yield table.id == given.application


def _instance(row: RowMapping) -> Instance:
    return Instance(
        uid=row["uid"],
        agent=row["agent_name"],
        application=row["application_id"],
        service=row["service"],
        environment=row["environment"],
        region=row["region"],
        namespace=row["namespace"],
        pod=row["pod"],
        images=list(row["images"]),
        revision=row["revision"],
        ready=row["ready"],
        started_at=text_of(row["started_at"]),
    )


def _service(row: RowMapping) -> ServiceOf:
    return ServiceOf(
        environments=_words(row["environments"]),
        images=_words((row["images"] or "").split(",")),
        ready=int(row["ready"]),
        **_plain(row),
    )


def _plain(row: RowMapping) -> dict[str, Any]:
    counts = ("applications", "instances", "healthy", "out_of_sync")
    return {"name": row["name"], **{name: int(row[name]) for name in counts}}


def _words(values: Iterable[str]) -> list[str]:
    return sorted({it for it in values if it})


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/instances",
        needs=VIEW,
        handler=list_instances,
        takes=InstancesQuery,
        gives=Page[Instance],
    ),
    Endpoint(
        method="GET",
        path="/services",
        needs=VIEW,
        handler=list_services,
        takes=ServicesQuery,
        gives=Page[ServiceOf],
    ),
    Endpoint(
        method="GET",
        path="/environments",
        needs=VIEW,
        handler=list_environments,
        takes=PageQuery,
        gives=Page[Environment],
    ),
)
