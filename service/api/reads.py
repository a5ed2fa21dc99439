"""What only the agent can answer: tree, diff, manifests, live objects, events, refs.

A read is a task like any other. The answer is waited for without holding a connection; where the
agent takes longer, the caller gets 202 and the task, and the change feed tells when it has ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any

import msgspec
from aiohttp import web
from sqlalchemy import RowMapping

from bus.link import TaskKind, TaskPhase
from service.access.permissions import Permission
from service.api import applications as apps
from service.api.call import Call
from service.api.endpoint import Endpoint, Given, Handler, Nothing
from service.api.fields import Text
from service.api.orders import Accepted, row_of, task_of
from service.api.problem import ProblemError
from service.api.serve import HEADERS
from service.api.status import AgentStatus
from service.gateway.tasks import Ended, NewTask

VIEW = Permission.APPLICATION_VIEW
WAIT_SECONDS = 10.0
_NOT_AFTER = timedelta(seconds=60)
_STATUS = {
    "not_allowed": 403,
    "not_found": 404,
    "conflict": 409,
    "invalid": 422,
    "unsupported": 422,
    "unreachable": 502,
    "expired": 504,
}
_AWAY = (AgentStatus.DISCONNECTED, AgentStatus.LOST, AgentStatus.WAITING, AgentStatus.REVOKED)


class ObjectQuery(Given, frozen=True, kw_only=True, omit_defaults=True):
    """One object; `version` may be left out."""

    group: Text = ""
    version: Text = ""
    kind: Annotated[str, msgspec.Meta(min_length=1, max_length=63)]
    namespace: Text = ""
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]


class EventsQuery(Given, frozen=True, kw_only=True, omit_defaults=True):
    """Of one object, or of the whole application where none is named."""

    group: Text = ""
    version: Text = ""
    kind: Text = ""
    namespace: Text = ""
    name: Annotated[str, msgspec.Meta(max_length=253)] = ""
    uid: Text = ""


class RevisionQuery(Given, frozen=True, kw_only=True, omit_defaults=True):
    """Any branch, tag or commit; what is rendered now where it is left out."""

    revision: Annotated[str, msgspec.Meta(max_length=253)] = ""


async def get_tree(call: Call, given: Nothing) -> web.Response:
    """The objects of an application and what they own, as nodes with their parents."""
    return await _read(call, TaskKind.TREE, given)


async def get_manifests(call: Call, given: RevisionQuery) -> web.Response:
    """The desired state, rendered and redacted."""
    return await _read(call, TaskKind.MANIFESTS, given)


async def get_diff(call: Call, given: RevisionQuery) -> web.Response:
    """Desired beside live, object by object, with the fields that differ."""
    return await _read(call, TaskKind.DIFF, given)


async def get_live(call: Call, given: ObjectQuery) -> web.Response:
    """One live object, redacted."""
    return await _read(call, TaskKind.LIVE, given)


async def get_events(call: Call, given: EventsQuery) -> web.Response:
    """Kubernetes events, the newest first."""
    return await _read(call, TaskKind.EVENTS, given)


async def ask(
    call: Call,
    row: RowMapping | Mapping[str, Any],
    kind: TaskKind,
    arguments: dict[str, Any],
    *,
    within: float,
) -> Ended:
    """Asks, gives the connection back and waits; `row` is an application with its agent.

    Equal questions that are asked at once are one task.
    """
    check_there(row, call)
    new = NewTask(
        account_id=call.account,
        agent_id=row["agent_id"],
        kind=kind,
        actor=call.caller.name,
        subject=f"{row['namespace']}/{row['name']}",
        project=row["project"],
        arguments=arguments,
        principal_id=call.caller.id,
        not_after=call.now + _NOT_AFTER,
    )
    tasks = call.tools.parts.tasks
    id_ = await tasks.share(call.connection, new)
    await call.release()
    ended = await tasks.result(id_, within)
    if ended is None:
        raise ProblemError(504, "the task no longer exists", rule="agent-answer")
    return ended


async def _read(call: Call, kind: TaskKind, given: Any) -> web.Response:
    row = await apps.find(call, call.id, VIEW)
    ended = await ask(call, row, kind, msgspec.to_builtins(given), within=WAIT_SECONDS)
    return await answered(call, ended)


async def answered(call: Call, ended: Ended) -> web.Response:
    if ended.phase.final:
        return _response(200, body_of(ended))
    async with call.tools.parts.engine.connect() as connection:
        row = await row_of(replace(call, connection=connection), ended.id)
    return _response(202, Accepted(task=task_of(row)))


def body_of(ended: Ended) -> Any:
    """What the agent answered; raises the problem where there is no answer."""
    if ended.phase is TaskPhase.SUCCEEDED:
        return ended.result
    if not ended.phase.final:
        raise ProblemError(
            504, "the agent has not answered yet", rule="agent-answer", remedy="Try again."
        )
    raise ProblemError(
        _STATUS.get(ended.code, 502),
        ended.message or f"the task ended as {ended.phase}",
        rule=f"agent-{ended.code or ended.phase}".replace("_", "-"),
        remedy=_REMEDIES.get(ended.code, "See the agent's log."),
    )


_REMEDIES = {
    "not_allowed": "The agent's policy refuses it: see the permissions on the page Agents.",
    "expired": "Try again when the agent is connected.",
    "not_found": "It may have been deleted: refresh the application.",
}


def check_there(row: RowMapping | Mapping[str, Any], call: Call) -> None:
    status = apps.agent_status(row, call.now)
    if status in _AWAY:
        raise ProblemError(
            503,
            f"agent {row['agent_name']} is {status}",
            rule="agent-away",
            remedy="The last reported state is shown. Try again when the agent is connected.",
        )


def _response(status: int, body: Any) -> web.Response:
    raw = msgspec.json.encode(body)
    return web.Response(status=status, body=raw, content_type="application/json", headers=HEADERS)


def _get(noun: str, handler: Handler, takes: type[Given] = Nothing) -> Endpoint:
    return Endpoint(
        method="GET",
        path=f"/applications/{{id}}/{noun}",
        needs=VIEW,
        handler=handler,
        takes=takes,
        gives=Any,
    )


ENDPOINTS = (
    _get("tree", get_tree),
    _get("manifests", get_manifests, RevisionQuery),
    _get("diff", get_diff, RevisionQuery),
    _get("live", get_live, ObjectQuery),
    _get("events", get_events, EventsQuery),
)
