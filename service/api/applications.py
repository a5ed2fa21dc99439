"""Applications as the service knows them: the list with its filters, and one of them complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from service.api.commits import At, Commit, commits_of
from service.api.endpoint import Answer, Endpoint, Nothing
from service.api.fields import text_of
from service.api.pages import Page, rows_of
from service.api.problem import DeniedError, not_found
from service.api.sight import application_place, visible_applications
from service.api.status import AgentStatus, status_of
from service.projection.attention import Attention
from service.store.tables import agents, applications, epochs, objects

VIEW = Permission.APPLICATION_VIEW


class AgentOfIt(Answer, frozen=True, kw_only=True):
    id: str
    name: str
    status: AgentStatus


class Deployed(Answer, frozen=True, kw_only=True):
    """The deployment that runs; `rolledBack` while it is an earlier one than Git wants.

    `commit` is the running revision's own. `by` is a name, or `automated`.
    """

    revision: str
    commit: Commit
    since: str | None
    by: str
    rolled_back: bool


class Wanted(Answer, frozen=True, kw_only=True):
    """What `targetRevision` means now, with the commit of that revision."""

    revision: str
    commit: Commit


class CauseOfIt(Answer, frozen=True, kw_only=True):
    """The deepest ill object: `object` is `group/kind/namespace/name`."""

    object: str
    health: str
    reason: str
    message: str
    since: str


class FailedSync(Answer, frozen=True, kw_only=True):
    """A sync that failed; `retrying`: the agent tries it again."""

    object: str
    message: str
    revision: str
    since: str
    retries: int
    retrying: bool


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
    running: Deployed
    wanted: Wanted
    sync: str
    sync_failure: FailedSync | None
    attention: Attention
    health: str
    cause: CauseOfIt | None
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
    return Page(
        items=await applications_of(found.rows, call),
        next=found.next,
        total=await _total(call, given),
    )


async def get_application(call: Call, _given: Nothing) -> ApplicationDetail:
    """One application with its spec and its status."""
    row = await find(call, call.id)
    body = await body_of(call, row)
    (plain,) = await applications_of([row], call)
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


async def applications_of(rows: Sequence[RowMapping], call: Call) -> list[Application]:
    """With the commits of what runs and of what is wanted, looked up at once."""
    commits = await commits_of(call, {at for row in rows for at in (_runs(row), _wants(row))})
    return [_application(row, call, commits) for row in rows]


def _runs(row: RowMapping) -> At:
    return At(row["agent_id"], row["repository"], row["running_revision"])


def _wants(row: RowMapping) -> At:
    return At(row["agent_id"], row["repository"], row["revision"])


def _application(row: RowMapping, call: Call, commits: Mapping[At, Commit]) -> Application:
    agent = AgentOfIt(
        id=row["agent_id"],
        name=row["agent_name"],
        status=agent_status(row, call.now),
    )
    times: dict[str, Any] = {
        name: text_of(row[name]) for name in ("sync_since", "health_since", "as_of")
    }
    plain: dict[str, Any] = {name: row[name] for name in _PLAIN}
    running = Deployed(
        revision=row["running_revision"],
        commit=commits[_runs(row)],
        since=text_of(row["running_since"]),
        by=row["running_by"],
        rolled_back=row["rolled_back"],
    )
    return Application(
        agent=agent,
        images=list(row["images"]),
        running=running,
        wanted=Wanted(revision=row["revision"], commit=commits[_wants(row)]),
        cause=_cause(row["cause"]),
        sync_failure=_sync_failure(row["sync_failure"]),
        attention=Attention(row["attention"]),
        **plain,
        **times,
    )


def _cause(found: Mapping[str, Any] | None) -> CauseOfIt | None:
    """Defaults are left out where it is kept."""
    return CauseOfIt(**{name: found.get(name, "") for name in _CAUSE}) if found else None


def _sync_failure(found: Mapping[str, Any] | None) -> FailedSync | None:
    return FailedSync(**{name: found[name] for name in _FAILURE}) if found else None


_MADE = frozenset(
    {
        "agent",
        "images",
        "running",
        "wanted",
        "cause",
        "sync_failure",
        "attention",
        "sync_since",
        "health_since",
        "as_of",
    }
)
_PLAIN = tuple(name for name in Application.__struct_fields__ if name not in _MADE)
_CAUSE = CauseOfIt.__struct_fields__
_FAILURE = FailedSync.__struct_fields__


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
