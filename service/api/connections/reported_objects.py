"""Objects of an agent's active epoch that have no table of their own: by id, and with a version.

The id is derived from agent, kind and subject, so an object is found by deriving the ids of all
objects of its kind.

The version is what a writer of an Application or AppProject names in If-Match. The agent digests
what people edit (spec, labels, annotations), so an edit is refused after another edit and not after
a change of the status. The agent checks the version again before it writes: the object that is
written is the one whose project the caller was allowed to write. An agent before this field reports
none: the hash of the whole report takes its place, and only the UID is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

import msgspec
from sqlalchemy import Select, and_, select

from bus.identity import derived_id
from service.api.agent_tasks.task_answers import TaskTarget
from service.http.call import ApiCall
from service.http.endpoint import ResponseModel
from service.http.problem import not_found
from service.store.rows import read_row, read_rows
from service.store.tables import agents, epochs, objects


class ReportedObjectKey(msgspec.Struct, frozen=True, kw_only=True):
    agent_id: str
    kind: str
    subject: str


class ReportedObjectRow(ReportedObjectKey, frozen=True, kw_only=True):
    """An object with the columns of its agent."""

    uid: str
    hash: str
    project: str
    as_of: datetime
    body: dict[str, Any]
    agent_name: str
    agent_state: str
    agent_heard_at: datetime | None
    agent_connected: bool
    agent_environment: str
    agent_region: str
    organisation_id: str | None
    project_id: str | None


class ReportingAgent(ResponseModel, frozen=True, kw_only=True):
    """The agent that reports an object."""

    id: str
    name: str


def selected(kind: str) -> Select[Any]:
    """Select the objects of a kind in active epochs, with the columns of their agent."""
    return _of_believed(
        select(
            objects,
            agents.c.name.label("agent_name"),
            agents.c.state.label("agent_state"),
            agents.c.heard_at.label("agent_heard_at"),
            agents.c.connected.label("agent_connected"),
            agents.c.environment.label("agent_environment"),
            agents.c.region.label("agent_region"),
            agents.c.organisation_id,
            agents.c.project_id,
        ),
        kind,
    )


def target_of(row: ReportedObjectRow) -> TaskTarget:
    """Make the target of a task about the object."""
    namespace, _, name = row.subject.partition("/")
    return TaskTarget(
        agent_id=row.agent_id,
        agent_name=row.agent_name,
        agent_state=row.agent_state,
        agent_heard_at=row.agent_heard_at,
        agent_connected=row.agent_connected,
        namespace=namespace,
        name=name,
        project=row.project,
    )


def id_of(row: ReportedObjectKey) -> str:
    return derived_id(f"object {row.agent_id} {row.kind} {row.subject}")


async def find(call: ApiCall, kind: str) -> ReportedObjectRow:
    """Read the object of the path's id; whether the caller may see it is not asked here."""
    keys = _of_believed(select(objects.c.agent_id, objects.c.kind, objects.c.subject), kind)
    keys = keys.where(agents.c.account_id == call.account)
    for key in await read_rows(call.connection, keys, ReportedObjectKey):
        if id_of(key) == call.id:
            mine = (objects.c.agent_id == key.agent_id) & (objects.c.subject == key.subject)
            return await read_row(call.connection, selected(kind).where(mine), ReportedObjectRow)
    raise not_found(f"{kind} {call.id}")


def _of_believed(query: Select[Any], kind: str) -> Select[Any]:
    believed = and_(epochs.c.agent_id == objects.c.agent_id, epochs.c.epoch == objects.c.epoch)
    return (
        query.select_from(objects)
        .join(agents, agents.c.id == objects.c.agent_id)
        .join(epochs, believed)
        .where(epochs.c.state == "active", objects.c.kind == kind)
    )


class ReportColumns(Protocol):
    """Columns of a reported object."""

    @property
    def uid(self) -> str: ...

    @property
    def hash(self) -> str: ...

    @property
    def body(self) -> dict[str, Any]: ...


def reported_body(row: ReportColumns) -> Mapping[str, Any]:
    """Make the report of a row of `objects`, with its hash and the UID."""
    return {**row.body, "hash": row.hash, "uid": row.uid}


def version_of(body: Mapping[str, Any]) -> str:
    """The version of a report, see `reported_body`; empty where there is none yet."""
    return str(body.get("editVersion") or body.get("hash") or "")


def precondition_of(body: Mapping[str, Any]) -> dict[str, str]:
    """What has to hold at the agent when it writes."""
    return {name: body[name] for name in ("uid", "editVersion") if body.get(name)}
