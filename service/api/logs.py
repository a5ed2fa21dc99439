"""Logs of a pod, and events as they come: streams that pass through and are stored nowhere."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

import msgspec
from aiohttp import web

from bus.link import TaskKind
from service.access.permissions import Permission
from service.api import applications as apps
from service.api.call import Call
from service.api.endpoint import Endpoint, Given
from service.api.reads import EventsQuery, check_there
from service.api.streamed import streamed
from service.gateway.tasks import NewTask

VIEW = Permission.APPLICATION_VIEW


class LogsQuery(Given, frozen=True, kw_only=True, omit_defaults=True):
    pod: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
    namespace: Annotated[str, msgspec.Meta(max_length=63)] = ""
    container: Annotated[str, msgspec.Meta(max_length=63)] = ""
    tail: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 200
    follow: bool = False
    previous: bool = False


async def get_logs(call: Call, given: LogsQuery) -> web.StreamResponse:
    """Lines of one pod of the application, followed if asked for."""
    arguments = {**msgspec.to_builtins(given), "tail": given.tail}
    new = await _asked(call, TaskKind.LOGS, arguments)
    task = await call.tools.parts.tasks.submit(call.connection, new)
    detail = {"pod": given.pod, "task": task}
    await call.audit("logs.read", new.subject, project=new.project, detail=detail)
    return await streamed(call, new, task, _may_read)


async def get_event_stream(call: Call, given: EventsQuery) -> web.StreamResponse:
    """Kubernetes events: those that are known, then each as it comes, a line of JSON each.

    An empty line is a sign of life.
    """
    new = await _asked(call, TaskKind.EVENT_STREAM, msgspec.to_builtins(given))
    task = await call.tools.parts.tasks.submit(call.connection, new)
    return await streamed(call, new, task, _may_read)


async def _may_read(call: Call) -> None:
    await apps.find(call, call.id, VIEW)


async def _asked(call: Call, kind: TaskKind, arguments: dict[str, Any]) -> NewTask:
    row = await apps.find(call, call.id, VIEW)
    check_there(row, call)
    await call.turn()
    return NewTask(
        account_id=call.account,
        agent_id=row["agent_id"],
        kind=kind,
        actor=call.caller.name,
        subject=f"{row['namespace']}/{row['name']}",
        project=row["project"],
        arguments=arguments,
        principal_id=call.caller.id,
        not_after=call.now + timedelta(seconds=60),
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/applications/{id}/events/stream",
        needs=VIEW,
        handler=get_event_stream,
        takes=EventsQuery,
        media="text/event-stream",
    ),
    Endpoint(
        method="GET",
        path="/applications/{id}/logs",
        needs=VIEW,
        handler=get_logs,
        takes=LogsQuery,
        media="text/event-stream",
    ),
)
