"""Service instances: the pods that run, with image and commit, of what one may see."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import ColumnElement, RowMapping, select

from service.api.call import Call
from service.api.endpoint import Answer, Endpoint
from service.api.fields import Text, text_of
from service.api.pages import Order, Page, rows_of
from service.api.places import PlaceQuery, in_place
from service.api.sight import visible_applications
from service.history.counted import deployed
from service.history.visible import VIEW
from service.store.tables import agents, applications, instances


class InstancesQuery(PlaceQuery, frozen=True, kw_only=True):
    """`application`: its id."""

    service: Text = ""
    application: Text = ""


class Instance(Answer, frozen=True, kw_only=True):
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


async def list_instances(call: Call, given: InstancesQuery) -> Page[Instance]:
    """Pods that run, with image and commit; at most 500 of an application are told."""
    table = applications.c
    query = (
        select(instances, agents.c.name.label("agent_name"), table.name.label("application_name"))
        .add_columns(table.service, table.environment, table.region)
        .add_columns(deployed().label("revision"))
        .join(applications, table.id == instances.c.application_id)
        .join(agents, agents.c.id == instances.c.agent_id)
        .where(visible_applications(call.caller, VIEW), *_filters(given))
    )
    order = Order(columns=(instances.c.namespace, instances.c.pod, instances.c.uid))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/instances")
    return Page(items=[_instance(row) for row in found.rows], next=found.next)


def _filters(given: InstancesQuery) -> Iterator[ColumnElement[bool]]:
    table = applications.c
    yield from in_place(given, table.environment, table.region)
    if given.service:
        yield table.service.in_(given.service.split(","))
    if given.application:
        yield table.id == given.application


def _instance(row: RowMapping) -> Instance:
    return Instance(
        uid=row["uid"],
        agent=row["agent_name"],
        application=row["application_id"],
        application_name=row["application_name"],
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
