"""Services, one row for each environment: what runs of them, by image, and at which commit.

A service is a word on applications: the label gitops.house/service. Applications without it are of
no service.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, RowMapping, cast, func, select
from sqlalchemy import Text as SqlText
from sqlalchemy.dialects.postgresql import ARRAY

from service.api.call import Call
from service.api.endpoint import Answer, Endpoint
from service.api.fields import Text
from service.api.pages import Order, Page, rows_of
from service.api.places import PlaceQuery, in_place
from service.api.sight import visible_applications
from service.history.counted import Counts, counts, deployed, numbers, running, told, words
from service.history.running import INSTANCES
from service.history.visible import VIEW
from service.store.tables import applications, instances, objects

_SHOWN = 50
Place = tuple[str, str]
"""A service and an environment."""


class ServicesQuery(PlaceQuery, frozen=True, kw_only=True):
    service: Text = ""


class ImageOf(Answer, frozen=True, kw_only=True):
    """Two of one service are a rollout under way, or two applications."""

    image: str
    instances: int
    ready: int


class ApplicationOf(Answer, frozen=True, kw_only=True):
    id: str
    name: str
    region: str
    revision: str


class ServiceOf(Counts, frozen=True, kw_only=True):
    """`leftOut`: instances beyond what an agent tells; `of`: the first of its applications."""

    name: str
    environment: str
    regions: list[str]
    images: list[ImageOf]
    revisions: list[str]
    of: list[ApplicationOf]
    left_out: int


async def list_services(call: Call, given: ServicesQuery) -> Page[ServiceOf]:
    """By service and environment, with what runs of each."""
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
        .where(*in_place(given, table.environment, table.region))
        .group_by(table.service, table.environment)
    )
    if given.service:
        query = query.where(table.service.in_(given.service.split(",")))
    order = Order(columns=(table.service, table.environment))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/services")
    ids = [one["id"] for row in found.rows for one in row["of"]]
    images, left_out = await _images(call, ids), await _left_out(call, ids)
    items = [_service(row, images, left_out) for row in found.rows]
    return Page(items=items, next=found.next)


async def _images(call: Call, ids: Sequence[str]) -> Mapping[Place, list[ImageOf]]:
    """What the pods of these applications run, counted."""
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
    found: defaultdict[Place, list[ImageOf]] = defaultdict(list)
    for row in await call.connection.execute(query):
        one = ImageOf(image=row.image, instances=row.all, ready=row.ready)
        found[row.service, row.environment].append(one)
    return found


async def _left_out(call: Call, ids: Sequence[str]) -> Mapping[str, int]:
    """By application, as its agent says; what is no number counts for nothing."""
    left_out = told(INSTANCES, objects.c.body[("status", "leftOut")])
    query = select(applications.c.id, left_out.label("left_out"))
    rows = await call.connection.execute(query.where(_one_of(applications.c.id, ids)))
    return {row.id: row.left_out for row in rows if isinstance(row.left_out, int)}


def _one_of(column: ColumnElement[str], ids: Sequence[str]) -> ColumnElement[bool]:
    """As one parameter, however many there are."""
    return column == func.any(cast(list(ids), ARRAY(SqlText)))


def _service(
    row: RowMapping, images: Mapping[Place, list[ImageOf]], left_out: Mapping[str, int]
) -> ServiceOf:
    of = sorted((ApplicationOf(**one) for one in row["of"]), key=lambda it: (it.name, it.id))
    return ServiceOf(
        name=row["name"],
        environment=row["environment"],
        regions=words(it.region for it in of),
        images=images.get((row["name"], row["environment"]), []),
        revisions=words(it.revision for it in of),
        of=of[:_SHOWN],
        left_out=sum(left_out.get(it.id, 0) for it in of),
        **numbers(row),
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/services",
        needs=VIEW,
        handler=list_services,
        takes=ServicesQuery,
        gives=Page[ServiceOf],
    ),
)
