"""Applications as the service knows them: the list with its filters, and one of them complete."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from sqlalchemy import (
    Column,
    ColumnElement,
    Integer,
    RowMapping,
    Select,
    and_,
    case,
    cast,
    func,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import JSONB

from service.access.permissions import Permission
from service.access.values import Place
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Nothing
from service.api.fields import Text, text_of
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.problem import DeniedError, not_found
from service.api.sight import application_place, visible_applications
from service.api.status import AgentStatus, status_of
from service.store.tables import agents, applications, epochs, objects

VIEW = Permission.APPLICATION_VIEW


class Sort(StrEnum):
    WORST = "worst"
    NAME = "name"
    CHANGED = "changed"


class ApplicationsQuery(PageQuery, frozen=True, kw_only=True):
    """Several values of a field are separated by commas; labels are `key=value` or `key`."""

    search: Text = ""
    project: Text = ""
    environment: Text = ""
    region: Text = ""
    agent: Text = ""
    health: Text = ""
    sync: Text = ""
    label: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    service: Text = ""
    sort: Sort = Sort.WORST


class AgentOfIt(Answer, frozen=True, kw_only=True):
    id: str
    name: str
    status: AgentStatus


class Application(Answer, frozen=True, kw_only=True):
    """Of the agent's newest report; `as_of` says how old that is."""

    id: str
    agent: AgentOfIt
    namespace: str
    name: str
    project: str
    environment: str
    region: str
    service: str
    labels: dict[str, str]
    repository: str
    path: str
    target_revision: str
    revision: str
    sync: str
    health: str
    health_message: str
    phase: str
    automated: bool
    images: list[str]
    conditions: list[dict[str, Any]]
    sync_since: str | None
    health_since: str | None
    as_of: str | None
    suspect: bool


class ApplicationDetail(Application, frozen=True, kw_only=True):
    """`version` is what If-Match takes: the hash of what the agent reported."""

    version: str
    spec: dict[str, Any]
    status: dict[str, Any]
    annotations: dict[str, str]


async def list_applications(call: Call, given: ApplicationsQuery) -> Page[Application]:
    """What needs a person first, unless another order is asked for."""
    query = selected().where(visible_applications(call.caller, VIEW), *filters_of(given))
    place = f"{call.account}/applications"
    found = await rows_of(call.connection, query, ORDERS[given.sort], given, place)
    items = [application_of(row, call) for row in found.rows]
    return Page(items=items, next=found.next, total=await _total(call, given))


async def get_application(call: Call, _given: Nothing) -> ApplicationDetail:
    """One application with its spec and its status."""
    row = await find(call, call.id)
    body = await body_of(call, row)
    plain = application_of(row, call)
    return ApplicationDetail(
        **{name: getattr(plain, name) for name in plain.__struct_fields__},
        version=body.get("hash", ""),
        spec=body.get("spec", {}),
        status=body.get("status", {}),
        annotations=body.get("annotations", {}),
    )


async def find(call: Call, id_: str, permission: Permission = VIEW) -> RowMapping:
    """Raises 404 where it may not be seen, 403 where it may be seen but not this."""
    known = selected().where(applications.c.id == id_, applications.c.account_id == call.account)
    found = await call.connection.execute(known)
    row: RowMapping | None = found.mappings().one_or_none()
    if row is None:
        raise not_found(f"application {id_}")
    place = await place_of(call, row)
    if not call.may(VIEW, place):
        raise DeniedError(VIEW, f"application {id_}", status=404)
    call.require(permission, place, f"application {row['namespace']}/{row['name']}")
    return row


async def place_of(call: Call, row: RowMapping) -> Place:
    return await application_place(call.connection, row["agent_id"], row["project"], row["labels"])


def selected() -> Select[Any]:
    return select(
        applications,
        agents.c.name.label("agent_name"),
        agents.c.state.label("agent_state"),
        agents.c.heard_at.label("agent_heard_at"),
    ).join(agents, agents.c.id == applications.c.agent_id)


def filters_of(given: ApplicationsQuery) -> list[ColumnElement[bool]]:
    table = applications.c
    plain: tuple[tuple[str, Column[Any]], ...] = (
        (given.project, table.project),
        (given.environment, table.environment),
        (given.region, table.region),
        (given.health, table.health),
        (given.sync, table.sync),
        (given.service, table.service),
    )
    found: list[ColumnElement[bool]] = []
    found += [column.in_(text.split(",")) for text, column in plain if text]
    if given.agent:
        wanted = given.agent.split(",")
        found.append(or_(agents.c.id.in_(wanted), agents.c.name.in_(wanted)))
    if given.search:
        word = given.search.lower()
        columns = (table.name, table.repository, table.service, table.project)
        found.append(or_(*(func.strpos(func.lower(it), word) > 0 for it in columns)))
    return found + [_labelled(part) for part in given.label.split(",") if part]


def application_of(row: RowMapping, call: Call) -> Application:
    agent = AgentOfIt(
        id=row["agent_id"],
        name=row["agent_name"],
        status=status_of(row["agent_state"], row["agent_heard_at"], call.now),
    )
    times: dict[str, Any] = {
        name: text_of(row[name]) for name in ("sync_since", "health_since", "as_of")
    }
    plain: dict[str, Any] = {name: row[name] for name in _PLAIN}
    return Application(agent=agent, images=list(row["images"]), **plain, **times)


_PLAIN = tuple(
    name
    for name in Application.__struct_fields__
    if name not in ("agent", "images", "sync_since", "health_since", "as_of")
)


def _labelled(text: str) -> ColumnElement[bool]:
    key, equals, value = text.partition("=")
    if equals:
        return applications.c.labels.op("@>")(cast({key: value}, JSONB))
    has: ColumnElement[bool] = applications.c.labels.op("?")(key)
    return has


async def _total(call: Call, given: ApplicationsQuery) -> int | None:
    """Counted on the first page only."""
    if given.cursor:
        return None
    query = (
        select(func.count())
        .select_from(applications.join(agents, agents.c.id == applications.c.agent_id))
        .where(visible_applications(call.caller, VIEW), *filters_of(given))
    )
    return int(await call.connection.scalar(query) or 0)


async def body_of(call: Call, row: RowMapping) -> dict[str, Any]:
    """The report itself, of the epoch that is believed."""
    subject = f"{row['namespace']}/{row['name']}"
    query = (
        select(objects.c.body, objects.c.hash, objects.c.uid)
        .join(
            epochs,
            and_(epochs.c.agent_id == objects.c.agent_id, epochs.c.epoch == objects.c.epoch),
        )
        .where(
            epochs.c.state == "active",
            objects.c.agent_id == row["agent_id"],
            objects.c.kind == "Application",
            objects.c.subject == subject,
        )
    )
    found = (await call.connection.execute(query)).one_or_none()
    return {**found.body, "hash": found.hash, "uid": found.uid} if found is not None else {}


_TABLE = applications.c
_WORST = case(
    (_TABLE.health == "Degraded", 0),
    (_TABLE.phase.in_(("Failed", "Error")), 1),
    (_TABLE.health == "Missing", 2),
    (_TABLE.health == "Unknown", 3),
    (_TABLE.sync == "Unknown", 4),
    (_TABLE.sync == "OutOfSync", 5),
    (_TABLE.health == "Progressing", 6),
    (_TABLE.health == "Suspended", 7),
    else_=8,
)
_CHANGED = func.greatest(_TABLE.sync_since, _TABLE.health_since, type_=_TABLE.as_of.type)
ORDERS = {
    Sort.WORST: Order(columns=(cast(_WORST, Integer), _TABLE.name, _TABLE.id)),
    Sort.NAME: Order(columns=(_TABLE.name, _TABLE.id)),
    Sort.CHANGED: Order(
        columns=(func.coalesce(_CHANGED, _TABLE.as_of, type_=_TABLE.as_of.type), _TABLE.id),
        descending=True,
    ),
}

ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/applications",
        needs=VIEW,
        handler=list_applications,
        takes=ApplicationsQuery,
        gives=Page[Application],
    ),
    Endpoint(
        method="GET",
        path="/applications/{id}",
        needs=VIEW,
        handler=get_application,
        gives=ApplicationDetail,
    ),
)
