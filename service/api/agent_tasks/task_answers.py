"""Answers of tasks that read: asked of an agent, waited for, and given to the caller.

The request's connection is given back before the wait. Equal questions that are asked at the same
time are one task, because ten people who look at one application are one question to its agent.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
from aiohttp import web

from bus.link import TaskArguments, TaskPhase
from service.api.agent_tasks.task_requests import TaskReceipt, row_of, task_of
from service.gateway.agent_status import AgentStatus, status_of
from service.gateway.task_store import QueuedTask, TaskEnd
from service.http.call import ENGINE, TASKS, ApiCall
from service.http.problem import HEADERS, ProblemError
from service.observe.requests import trace_of

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


class TaskTarget(msgspec.Struct, frozen=True, kw_only=True):
    """The object that a task is about, with the columns of its agent."""

    agent_id: str
    agent_name: str
    agent_state: str
    agent_heard_at: datetime | None
    agent_connected: bool
    namespace: str
    name: str
    project: str

    @property
    def subject(self) -> str:
        return f"{self.namespace}/{self.name}"


async def ask(
    call: ApiCall,
    target: TaskTarget,
    arguments: TaskArguments,
    *,
    within: float,
) -> TaskEnd:
    """Ask the agent, give the connection back, and wait for the answer.

    Equal questions that are asked at once are one task.
    """
    check_there(target, call)
    new = QueuedTask(
        account_id=call.account,
        agent_id=target.agent_id,
        actor=call.caller.name,
        subject=target.subject,
        project=target.project,
        arguments=arguments,
        principal_id=call.caller.id,
        not_after=call.now + _NOT_AFTER,
        trace=trace_of(call.request),
    )
    tasks = call.use(TASKS)
    id_ = await tasks.share(call.connection, new)
    await call.release()
    ended = await tasks.result(id_, within)
    if ended is None:
        raise ProblemError(504, "the task no longer exists", rule="agent-answer")
    return ended


async def answered(call: ApiCall, ended: TaskEnd) -> web.Response:
    if ended.phase.final:
        return _response(200, body_of(ended))
    async with call.use(ENGINE).connect() as connection:
        row = await row_of(replace(call, connection=connection), ended.id)
    return _response(202, TaskReceipt(task=task_of(row)))


def body_of(ended: TaskEnd) -> Any:
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
    "not_found": "If it was deleted, refresh the application.",
}


def check_there(target: TaskTarget, call: ApiCall) -> None:
    status = agent_status(target, call.now)
    if status in _AWAY:
        raise ProblemError(
            503,
            f"agent {target.agent_name} is {status}",
            rule="agent-away",
            remedy="The last reported state is shown. Try again when the agent is connected.",
        )


def _response(status: int, body: Any) -> web.Response:
    raw = msgspec.json.encode(body)
    return web.Response(status=status, body=raw, content_type="application/json", headers=HEADERS)


def agent_status(target: TaskTarget, now: datetime) -> AgentStatus:
    """Derive the status of the agent whose columns the row of its object brings along."""
    return status_of(
        target.agent_state, target.agent_heard_at, now, connected=target.agent_connected
    )
