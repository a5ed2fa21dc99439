"""Connections: repositories, clusters, certificates and keys; never a credential.

The list shows what agents report. A write becomes a task of the agent. A credential is given as a
reference to a Secret there, or sealed to the agent's key, and is only passed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from aiohttp import web
from sqlalchemy import func

from bus.link import DeleteArguments, PutArguments, RefsArguments
from service.access.permissions import Permission
from service.access.visibility import agent_scope, visible_agents
from service.api.agent_tasks.task_answers import answered, ask
from service.api.agent_tasks.task_requests import TaskReceipt, TaskRequest, submit
from service.api.agents.agents import referred_agent
from service.api.connections import no_credentials, reported_objects
from service.api.connections.nouns import (
    NOUNS,
    REPOSITORIES,
    ConnectionNoun,
    ConnectionsQuery,
    ConnectionSummary,
    NewConnection,
)
from service.api.connections.reported_objects import ReportedObjectRow
from service.http import versioned
from service.http.call import ApiCall
from service.http.decode import convert
from service.http.endpoint import Endpoint, NoInput
from service.http.fields import in_environment, text_of
from service.http.pages import Page, PagedList, PageOrder, read_page
from service.http.problem import DeniedError, invalid
from service.store.tables import agents, objects

_MOST = 1 << 53
"""Numbers beyond it are not the same number in a browser."""


async def list_connections(
    noun: ConnectionNoun, call: ApiCall, params: ConnectionsQuery
) -> Page[ConnectionSummary]:
    """List the connections of one kind that the agents report."""
    query = reported_objects.selected(noun.kind).where(visible_agents(call.caller, noun.view))
    query = query.where(*in_environment(params, agents.c.environment, agents.c.region))
    if params.agent:
        query = query.where(agents.c.id == params.agent)
    if params.search:
        word = params.search.lower()
        query = query.where(func.strpos(func.lower(objects.c.subject), word) > 0)
    paged = PagedList(
        name=f"{call.account}/{noun.path}",
        order=PageOrder(columns=(objects.c.subject, objects.c.agent_id)),
        into=ReportedObjectRow,
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(_connection)


async def get_connection(
    noun: ConnectionNoun, call: ApiCall, _params: NoInput
) -> ConnectionSummary:
    """Get one connection."""
    return _connection(await _find(noun, call, noun.view))


async def put_connection(noun: ConnectionNoun, call: ApiCall, raw: dict[str, Any]) -> TaskReceipt:
    """Create or replace a connection by its agent; a credential only by reference or sealed."""
    no_credentials.check_names_and_values(raw)
    params = convert(raw, NewConnection)
    if params.secret_ref is not None and params.sealed is not None:
        raise invalid("sealed", "expected either secretRef or sealed", rule="one-of")
    agent = await referred_agent(call, params.agent)
    call.require(noun.edit, agent_scope(agent), f"{noun.kind} of agent {agent.name}")
    name = params.name or params.url or (noun.path if params.text else "")
    if not name:
        raise invalid("name", "expected a name or a url", rule="required")
    arguments = msgspec.convert(
        {**msgspec.to_builtins(params), "kind": noun.kind, "sealed": params.sealed or ""},
        PutArguments,
    )
    order = TaskRequest(
        agent_id=agent.id,
        subject=name[:400],
        project=params.project,
        arguments=arguments,
        action=f"{noun.kind.lower()}.put",
    )
    return TaskReceipt(task=await submit(call, order))


async def delete_connection(noun: ConnectionNoun, call: ApiCall, _params: NoInput) -> TaskReceipt:
    """Delete a connection by its agent; the one that the caller saw, where If-Match names it."""
    row = await _find(noun, call, noun.delete)
    body = reported_objects.reported_body(row)
    if seen := call.request.headers.get("If-Match", ""):
        versioned.check(seen, reported_objects.version_of(body))
    order = TaskRequest(
        agent_id=row.agent_id,
        subject=row.subject,
        project=row.project,
        arguments=DeleteArguments(kind=noun.kind),
        precondition=reported_objects.precondition_of(body),
        action=f"{noun.kind.lower()}.delete",
    )
    return TaskReceipt(task=await submit(call, order))


async def get_refs(call: ApiCall, _params: NoInput) -> web.Response:
    """List branches and tags of a repository, as its agent sees these refs now."""
    noun = REPOSITORIES
    row = await _find(noun, call, noun.view)
    asked = RefsArguments(url=_connection(row).url, project=row.project)
    ended = await ask(call, reported_objects.target_of(row), asked, within=10.0)
    return await answered(call, ended)


async def _find(noun: ConnectionNoun, call: ApiCall, permission: Permission) -> ReportedObjectRow:
    """Read a connection; raises 404 where it may not be seen, 403 where this is not permitted."""
    row = await reported_objects.find(call, noun.kind)
    scope = agent_scope(row)
    if not call.may(noun.view, scope):
        raise DeniedError(noun.view, f"{noun.kind} {call.id}", status=404)
    call.require(permission, scope, f"{noun.kind} {row.subject}")
    return row


def _connection(row: ReportedObjectRow) -> ConnectionSummary:
    body = row.body
    spec: Mapping[str, Any] = body.get("spec") or {}
    status: Mapping[str, Any] = body.get("status") or {}
    state = _mapping(status.get("connectionState") or status)
    info = _mapping(status.get("info"))
    return ConnectionSummary(
        id=reported_objects.id_of(row),
        agent=reported_objects.ReportingAgent(id=row.agent_id, name=row.agent_name),
        name=_first(spec, "name", "serverName", "keyId") or str(body.get("name") or row.subject),
        url=_first(spec, "url", "repo", "server"),
        type=_first(spec, "type"),
        sub_type=_first(spec, "subType"),
        fingerprint=_first(spec, "fingerprint"),
        info=_first(spec, "info"),
        expires_at=_first(spec, "expiresAt"),
        project=row.project,
        version=reported_objects.version_of(reported_objects.reported_body(row)),
        status=_first(state, "status") or ("Failed" if spec.get("problem") else ""),
        message=_first(state, "message") or _first(spec, "problem"),
        attempted_at=_first(state, "attemptedAt"),
        contact_at=_first(state, "contactAt"),
        server_version=_first(info, "serverVersion"),
        objects=_count(_mapping(info.get("cacheInfo")), "resourcesCount"),
        applications=_count(info, "applicationsCount"),
        as_of=text_of(row.as_of),
    )


def _first(fields: Mapping[str, Any], *names: str) -> str:
    """Read the first of the named fields that is not empty."""
    return next((str(fields[name]) for name in names if fields.get(name)), "")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(fields: Mapping[str, Any], name: str) -> int:
    """Read a number that an agent reports; 0 where it is none."""
    found = fields.get(name)
    return found if type(found) is int and 0 <= found < _MOST else 0


def _rows(noun: ConnectionNoun) -> tuple[Endpoint, ...]:
    words, many, one = noun.words, f"/{noun.path}", f"/{noun.path}/{{id}}"
    return (
        Endpoint(
            method="GET",
            path=many,
            needs=noun.view,
            handler=partial(list_connections, noun),
            takes=ConnectionsQuery,
            gives=Page[ConnectionSummary],
            title=f"List the {words.many} that the agents report.",
        ),
        Endpoint(
            method="POST",
            path=many,
            needs=noun.edit,
            handler=partial(put_connection, noun),
            takes=NewConnection,
            reads=dict,
            gives=TaskReceipt,
            status=202,
            title=f"Create or replace a {words.one} by its agent, with no credential in clear.",
        ),
        Endpoint(
            method="GET",
            path=one,
            needs=noun.view,
            handler=partial(get_connection, noun),
            gives=ConnectionSummary,
            title=f"Get one {words.one}.",
        ),
        Endpoint(
            method="DELETE",
            path=one,
            needs=noun.delete,
            handler=partial(delete_connection, noun),
            gives=TaskReceipt,
            status=202,
            title=f"Delete a {words.one} by its agent.",
        ),
    )


ENDPOINTS = (
    *(row for noun in NOUNS for row in _rows(noun)),
    Endpoint(
        method="GET",
        path="/repositories/{id}/refs",
        needs=Permission.REPOSITORY_VIEW,
        handler=get_refs,
        gives=Any,
    ),
)
