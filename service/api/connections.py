"""Repositories, clusters, certificates and keys: names and references, never a credential.

What is shown is what agents report. What is written becomes a task of the agent; a credential is a
reference to a Secret there, or a box that was sealed to the agent's key and is only passed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from aiohttp import web
from sqlalchemy import RowMapping, func

from bus.link import TaskKind
from service.access.permissions import Permission
from service.api import clear, rows, told
from service.api.call import Call
from service.api.connection_nouns import NOUNS, Connection, ConnectionsQuery, NewConnection, Noun
from service.api.decode import convert
from service.api.endpoint import Endpoint, Nothing
from service.api.fields import text_of
from service.api.orders import Accepted, Order, submit
from service.api.pages import Order as PageOrder
from service.api.pages import Page, rows_of
from service.api.places import in_place
from service.api.problem import DeniedError, invalid
from service.api.reads import answered, ask
from service.api.sight import agent_place, visible_agents
from service.store.tables import agents, objects


async def list_connections(noun: Noun, call: Call, given: ConnectionsQuery) -> Page[Connection]:
    """As the agents report them."""
    query = told.selected(noun.kind).where(visible_agents(call.caller, noun.view))
    query = query.where(*in_place(given, agents.c.environment, agents.c.region))
    if given.agent:
        query = query.where(agents.c.id == given.agent)
    if given.search:
        word = given.search.lower()
        query = query.where(func.strpos(func.lower(objects.c.subject), word) > 0)
    order = PageOrder(columns=(objects.c.subject, objects.c.agent_id))
    place = f"{call.account}/{noun.path}"
    found = await rows_of(call.connection, query, order, given, place)
    return Page(items=[_connection(row) for row in found.rows], next=found.next)


async def get_connection(noun: Noun, call: Call, _given: Nothing) -> Connection:
    """One of them."""
    return _connection(await _find(noun, call, noun.view))


async def put_connection(noun: Noun, call: Call, raw: dict[str, Any]) -> Accepted:
    """Have the agent create or replace it; a credential only by reference or sealed."""
    clear.check_names_and_values(raw)
    given = convert(raw, NewConnection)
    if given.secret_ref is not None and given.sealed is not None:
        raise invalid("sealed", "expected either secretRef or sealed", rule="one-of")
    agent = await rows.referred(call, agents, given.agent, "agent")
    call.require(noun.edit, agent_place(agent), f"{noun.kind} of agent {agent['name']}")
    name = given.name or given.url or (noun.path if given.text else "")
    if not name:
        raise invalid("name", "expected a name or a url", rule="required")
    body = msgspec.to_builtins(given)
    body = {key: it for key, it in body.items() if it not in (None, "", {}) and key != "agent"}
    order = Order(
        agent_id=agent["id"],
        kind=TaskKind.PUT,
        subject=name[:400],
        project=given.project,
        arguments={"kind": noun.kind, **body},
        action=f"{noun.kind.lower()}.put",
    )
    return Accepted(task=await submit(call, order))


async def delete_connection(noun: Noun, call: Call, _given: Nothing) -> Accepted:
    """Have the agent delete it."""
    row = await _find(noun, call, noun.delete)
    order = Order(
        agent_id=row["agent_id"],
        kind=TaskKind.DELETE,
        subject=row["subject"],
        project=row["project"],
        arguments={"kind": noun.kind},
        precondition={"uid": row["uid"]} if row["uid"] else {},
        action=f"{noun.kind.lower()}.delete",
    )
    return Accepted(task=await submit(call, order))


async def get_refs(call: Call, _given: Nothing) -> web.Response:
    """Branches and tags of a repository, as its agent sees them now."""
    noun = NOUNS[0]
    row = await _find(noun, call, noun.view)
    namespace, _, name = row["subject"].partition("/")
    target = {**row, "namespace": namespace, "name": name}
    asked = {"url": _connection(row).url, "project": row["project"]}
    ended = await ask(call, target, TaskKind.REFS, asked, within=10.0)
    return await answered(call, ended)


async def _find(noun: Noun, call: Call, permission: Permission) -> RowMapping:
    """Raises 404 where it may not be seen, 403 where it may be seen but not this."""
    row = await told.find(call, noun.kind)
    place = agent_place(row)
    if not call.may(noun.view, place):
        raise DeniedError(noun.view, f"{noun.kind} {call.id}", status=404)
    call.require(permission, place, f"{noun.kind} {row['subject']}")
    return row


def _connection(row: RowMapping) -> Connection:
    body = row["body"]
    spec: Mapping[str, Any] = body.get("spec") or {}
    status: Mapping[str, Any] = body.get("status") or {}
    state = status.get("connectionState") or status
    state = state if isinstance(state, Mapping) else {}
    return Connection(
        id=told.id_of(row),
        agent={"id": row["agent_id"], "name": row["agent_name"]},
        name=_first(spec, "name", "serverName", "keyId") or str(body.get("name") or row["subject"]),
        url=_first(spec, "url", "repo", "server"),
        type=_first(spec, "type"),
        sub_type=_first(spec, "subType"),
        fingerprint=_first(spec, "fingerprint"),
        info=_first(spec, "info"),
        expires_at=_first(spec, "expiresAt"),
        project=row["project"],
        status=_first(state, "status") or ("Failed" if spec.get("problem") else ""),
        message=_first(state, "message") or _first(spec, "problem"),
        attempted_at=_first(state, "attemptedAt"),
        as_of=text_of(row["as_of"]),
    )


def _first(said: Mapping[str, Any], *names: str) -> str:
    """The first of them that says anything."""
    return next((str(said[name]) for name in names if said.get(name)), "")


def _rows(noun: Noun) -> tuple[Endpoint, ...]:
    many, one = f"/{noun.path}", f"/{noun.path}/{{id}}"
    put, delete = partial(put_connection, noun), partial(delete_connection, noun)
    listed: dict[str, Any] = {"takes": ConnectionsQuery, "gives": Page[Connection]}
    written: dict[str, Any] = {"takes": NewConnection, "reads": dict, "gives": Accepted}
    list_, get = partial(list_connections, noun), partial(get_connection, noun)
    return (
        Endpoint(method="GET", path=many, needs=noun.view, handler=list_, **listed),
        Endpoint(method="POST", path=many, needs=noun.edit, handler=put, status=202, **written),
        Endpoint(method="GET", path=one, needs=noun.view, handler=get, gives=Connection),
        Endpoint(
            method="DELETE",
            path=one,
            needs=noun.delete,
            handler=delete,
            gives=Accepted,
            status=202,
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
