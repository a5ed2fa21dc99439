"""Services, one row for each environment: what runs of them, by image, and at which commit.

A service is a word on applications: the label plumbline.dev/service. Applications without it are of
no service.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, cast, func, select
from sqlalchemy import Text as SqlText
from sqlalchemy.dialects.postgresql import ARRAY

from bus.link.kinds import INSTANCES
from service.access.visibility import visible_applications
from service.api.history.instances import (
    InstanceCounts,
    InstanceCountsRow,
    count_values,
    counts,
    deployed,
    distinct_words,
    reported,
    running,
)
from service.api.history.record_visibility import VIEW
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, ResponseModel
from service.http.fields import EnvironmentQuery, Text, in_environment
from service.http.pages import Page, PagedList, PageOrder, read_page
from service.store.tables import applications, instances, objects

_SHOWN = 50
ServiceKey = tuple[str, str]
"""A service and an environment."""


class ServicesQuery(EnvironmentQuery, frozen=True, kw_only=True):
    service: Text = ""


class ServiceImage(ResponseModel, frozen=True, kw_only=True):
    """Two of one service are a rollout under way, or two applications."""

    image: str
    instances: int
    ready: int


class ServiceApplication(ResponseModel, frozen=True, kw_only=True):
    id: str
    name: str
    region: str
    revision: str


class ServiceSummary(InstanceCounts, frozen=True, kw_only=True):
    """`leftOut`: instances beyond what an agent tells; `of`: the first of its applications."""

    name: str
    environment: str
    regions: list[str]
    images: list[ServiceImage]
    revisions: list[str]
    of: list[ServiceApplication]
    left_out: int


class ServiceRow(InstanceCountsRow, frozen=True, kw_only=True):
    name: str
    environment: str
    of: list[dict[str, str]]


async def list_services(call: ApiCall, params: ServicesQuery) -> Page[ServiceSummary]:
    """List the services by environment, with what runs of each."""
    pods, table = running(), applications.c
    application = func.jsonb_build_object(
        "id", table.id, "name", table.name, "region", table.region, "revision", deployed()
    )
    query = (
        select(
            table.service.label("name"),
            table.environment,
            func.jsonb_agg(application).label("of"),
            *counts(pods),
        )
        .outerjoin(pods, pods.c.application_id == table.id)
        .where(visible_applications(call.caller, VIEW), table.service != "")
        .where(*in_environment(params, table.environment, table.region))
        .group_by(table.service, table.environment)
    )
    if params.service:
        query = query.where(table.service.in_(params.service.split(",")))
    paged = PagedList(
        name=f"{call.account}/services",
        order=PageOrder(columns=(table.service, table.environment)),
        into=ServiceRow,
    )
    found = await read_page(call.connection, query, params, paged)
    ids = [one["id"] for row in found.rows for one in row.of]
    images, left_out = await _images(call, ids), await _left_out(call, ids)
    items = [_service(row, images, left_out) for row in found.rows]
    return Page(items=items, next=found.next)


async def _images(call: ApiCall, ids: Sequence[str]) -> Mapping[ServiceKey, list[ServiceImage]]:
    """Count the images that the pods of these applications run."""
    # One row per image of a pod first: two containers of one pod count for two images.
    image = func.unnest(instances.c.images).label("image")
    each = (
        select(instances.c.application_id, instances.c.ready, image)
        .where(_one_of(instances.c.application_id, ids))
        .subquery()
    )
    table = applications.c
    ready = func.count().filter(each.c.ready).label("ready")
    query = (
        select(table.service, table.environment, each.c.image, func.count().label("all"), ready)
        .join(each, each.c.application_id == table.id)
        .group_by(table.service, table.environment, each.c.image)
        .order_by(each.c.image)
    )
    found: defaultdict[ServiceKey, list[ServiceImage]] = defaultdict(list)
    for row in await call.connection.execute(query):
        one = ServiceImage(image=row.image, instances=row.all, ready=row.ready)
        found[row.service, row.environment].append(one)
    return found


async def _left_out(call: ApiCall, ids: Sequence[str]) -> Mapping[str, int]:
    """Read, by application, how many instances its agent left out of the report."""
    left_out = reported(INSTANCES.name, objects.c.body[("status", "leftOut")])
    query = select(applications.c.id, left_out.label("left_out"))
    rows = await call.connection.execute(query.where(_one_of(applications.c.id, ids)))
    return {row.id: row.left_out for row in rows if isinstance(row.left_out, int)}


def _one_of(column: ColumnElement[str], ids: Sequence[str]) -> ColumnElement[bool]:
    """As one parameter, however many there are."""
    return column == func.any(cast(list(ids), ARRAY(SqlText)))


def _service(
    row: ServiceRow, images: Mapping[ServiceKey, list[ServiceImage]], left_out: Mapping[str, int]
) -> ServiceSummary:
    of = sorted((ServiceApplication(**one) for one in row.of), key=lambda it: (it.name, it.id))
    return ServiceSummary(
        name=row.name,
        environment=row.environment,
        regions=distinct_words(it.region for it in of),
        images=images.get((row.name, row.environment), []),
        revisions=distinct_words(it.revision for it in of),
        of=of[:_SHOWN],
        left_out=sum(left_out.get(it.id, 0) for it in of),
        **count_values(row),
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/services",
        needs=VIEW,
        handler=list_services,
        takes=ServicesQuery,
        gives=Page[ServiceSummary],
    ),
)
