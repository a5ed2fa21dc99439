"""A shell in a container of an application's pod, over a WebSocket.

It takes a permission of its own, which is asked for again whenever access changes: a shell ends
with the login or the role behind it. The audit says who had a shell where and for how long; what
was typed and shown is recorded nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Annotated

import msgspec
from aiohttp import web

from bus.http.budget import Budget
from bus.link import ExecArguments
from service.access.permissions import Permission
from service.api.agent_tasks.task_answers import check_there
from service.api.applications import applications as apps
from service.api.applications.logs import TASK_STREAMS
from service.api.applications.shell_messages import ShellEnd
from service.api.applications.shell_socket import ShellSocket, new_shell_socket
from service.audit import audit_book
from service.gateway.open_shells import OpenShell, ShellResult, begin_shell, end_shell
from service.gateway.task_store import QueuedTask
from service.http.call import CLOCK, ENGINE, TASKS, ApiCall
from service.http.endpoint import Endpoint, RequestModel
from service.http.login_check import LOGIN_CHECK
from service.http.problem import ProblemError
from service.http.stream_access import STREAM_ACCESS
from service.observe.requests import trace_of

EXEC = Permission.APPLICATION_EXEC
SHELLS = web.AppKey("shells", Budget)
MOST_SHELLS, SHELLS_OF_ONE = 64, 4
"""Open shells of this replica, and of one person."""
_NOT_AFTER = timedelta(seconds=30)
Side = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class ShellQuery(RequestModel, frozen=True, kw_only=True, omit_defaults=True):
    """A pod; without a container its default one, as for kubectl. Sizes are in characters."""

    pod: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
    namespace: Annotated[str, msgspec.Meta(min_length=1, max_length=63)]
    container: Annotated[str, msgspec.Meta(max_length=63)] = ""
    columns: Side = 80
    rows: Side = 24


async def open_shell(call: ApiCall, params: ShellQuery) -> web.StreamResponse:
    """Run a shell in a container of an application's pod, over a WebSocket."""
    call.use(LOGIN_CHECK).check_websocket(call.request, call.caller)
    row = await apps.find(call, call.id, EXEC)
    check_there(row, call)
    socket = new_shell_socket()
    if not socket.can_prepare(call.request).ok:
        text = "a shell is a WebSocket: expected the headers Connection: Upgrade and Upgrade"
        remedy = "Use the dashboard, or gitops app exec."
        raise ProblemError(400, text, rule="upgrade", remedy=remedy)
    with _slot(call):
        await call.turn()
        new = QueuedTask(
            account_id=call.account,
            agent_id=row.agent_id,
            actor=call.caller.name,
            subject=row.subject,
            project=row.project,
            arguments=_arguments(params),
            principal_id=call.caller.id,
            not_after=call.now + _NOT_AFTER,
            trace=trace_of(call.request),
        )
        task = await call.use(TASKS).submit(call.connection, new)
        await begin_shell(call.connection, _open_shell(call, new, task))
        return await _served(call, new, task, socket)


async def _served(
    call: ApiCall, new: QueuedTask, task: str, socket: web.WebSocketResponse
) -> web.StreamResponse:
    """Listens before the task is committed, so that nothing is missed."""
    streams, tasks = call.use(TASK_STREAMS), call.use(TASKS)
    ended = ShellEnd(reason="the connection was lost")
    with streams.reading(task) as pieces:
        await call.release()
        shell = ShellSocket(
            socket=socket,
            streams=streams,
            tasks=tasks,
            agent_id=new.agent_id,
            task=task,
            pieces=pieces,
        )
        try:
            await socket.prepare(call.request)
            reason = await call.use(STREAM_ACCESS).while_allowed(call, _may_exec, shell.run)
            ended = await shell.end(reason)
        except ConnectionError:
            pass  # the reader is gone; the task is ended below, as for every other end
        finally:
            await _close(call, shell, ended)
    return socket


async def _close(call: ApiCall, shell: ShellSocket, ended: ShellEnd) -> None:
    async with call.use(ENGINE).begin() as connection:
        await audit_book.turn(connection, call.account)
        await call.use(TASKS).cancel(connection, shell.task)
        result = ShellResult(
            task_id=shell.task,
            reason=ended.reason,
            exit_code=ended.exit_code,
            output=shell.sent,
            input=shell.received,
        )
        await end_shell(connection, result, call.use(CLOCK)())


def _open_shell(call: ApiCall, new: QueuedTask, task: str) -> OpenShell:
    args = new.arguments
    assert isinstance(args, ExecArguments)
    return OpenShell(
        task_id=task,
        account_id=new.account_id,
        agent_id=new.agent_id,
        actor=new.actor,
        address=call.caller.address[:64],
        subject=new.subject,
        project=new.project,
        pod={"namespace": args.namespace, "pod": args.name, "container": args.container},
        begun_at=call.now,
    )


async def _may_exec(call: ApiCall) -> None:
    await apps.find(call, call.id, EXEC)


def _arguments(params: ShellQuery) -> ExecArguments:
    return ExecArguments(
        kind="Pod",
        namespace=params.namespace,
        name=params.pod,
        container=params.container,
        columns=params.columns,
        rows=params.rows,
    )


@contextmanager
def _slot(call: ApiCall) -> Iterator[None]:
    slots, who = call.use(SHELLS), call.caller.id
    if not slots.take(who):
        text = f"{SHELLS_OF_ONE} shells of yours are open, or {MOST_SHELLS} of all people"
        raise ProblemError(429, text, rule="shells", remedy="End one of them, then try again.")
    try:
        yield
    finally:
        slots.give_back(who)


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/applications/{id}/exec",
        needs=EXEC,
        handler=open_shell,
        takes=ShellQuery,
        status=101,
    ),
)
