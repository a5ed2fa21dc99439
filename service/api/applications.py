"""Applications as the service knows them: the list with its filters, and one of them complete."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    RowMapping,
    Select,
    and_,
    func,
    select,
)

from service.access.permissions import Permission
from service.access.values import Place
from service.api.application_filters import ORDERS, ApplicationsQuery, filters_of
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Nothing
from service.api.fields import text_of
from service.api.pages import Page, rows_of
from service.api.problem import DeniedError, not_found
from service.api.sight import application_place, visible_applications
from service.api.status import AgentStatus, status_of
from service.store.tables import agents, applications, epochs, objects

VIEW = Permission.APPLICATION_VIEW


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
        agents.c.connected.label("agent_connected"),
    ).join(agents, agents.c.id == applications.c.agent_id)


def agent_status(row: RowMapping | Mapping[str, Any], now: datetime) -> AgentStatus:
    """Of the agent of a row that brings its agent's columns."""
    state, heard_at = row["agent_state"], row["agent_heard_at"]
    return status_of(state, heard_at, now, connected=row["agent_connected"])


def application_of(row: RowMapping, call: Call) -> Application:
    agent = AgentOfIt(
        id=row["agent_id"],
        name=row["agent_name"],
        status=agent_status(row, call.now),
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
