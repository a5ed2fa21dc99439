"""Logs of a pod and Kubernetes events, streamed from the agent as server-sent events.

Nothing of them is stored. The agent sends no more than it has credit for, so a slow reader slows
its own stream only; what was left out is counted in the event `dropped`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Annotated

import msgspec
from aiohttp import web

from bus.link import EventStreamArguments, LogsArguments, TaskArguments, TaskPhase
from service.access.permissions import Permission
from service.api.agent_tasks.task_answers import check_there
from service.api.applications import applications as apps
from service.api.applications.agent_reads import ObjectEventsQuery
from service.gateway.task_store import QueuedTask, TaskStore
from service.gateway.task_streams import StreamPiece, TaskStreams
from service.http.call import ENGINE, TASKS, ApiCall
from service.http.endpoint import Endpoint, RequestModel
from service.http.problem import HEADERS
from service.http.stream_access import STREAM_ACCESS, Holds
from service.observe.requests import trace_of

TASK_STREAMS = web.AppKey("task_streams", TaskStreams)
_LONGEST_SECONDS = 3600.0
_END_SECONDS = 1.0
_SIGN_OF_LIFE = b": waiting\n\n"
"""Of a piece without text, for readers and proxies that give up a silent connection."""
VIEW = Permission.APPLICATION_VIEW


async def streamed(call: ApiCall, new: QueuedTask, task: str, holds: Holds) -> web.StreamResponse:
    """Listens before the task is committed, so that nothing is missed.

    `holds`: raises ProblemError where the caller may not read it (any more).
    """
    streams, tasks = call.use(TASK_STREAMS), call.use(TASKS)
    response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
    with streams.reading(task) as queue:
        await call.release()
        await response.prepare(call.request)

        async def pump() -> None:
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(_until_refused(tasks, task, queue), name="refused")
                async for piece in streams.follow(new.agent_id, task, queue):
                    await response.write(_events(piece))
                watch.cancel()

        try:
            reason = await call.use(STREAM_ACCESS).while_allowed(call, holds, pump)
            if reason:
                await _write_end(response, reason)
        except* ConnectionError:
            pass  # the reader is gone; the task is ended below, as for every other end
        finally:
            await _cancel(call, task)
    return response


async def _write_end(response: web.StreamResponse, reason: str) -> None:
    """A reader that takes nothing is not waited for: its access is over."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_END_SECONDS):
            await response.write(_events(StreamPiece(ended=True, reason=reason)))


async def _until_refused(tasks: TaskStore, task: str, queue: asyncio.Queue[StreamPiece]) -> None:
    """A stream ends with its last piece; a refused task never has one."""
    ended = await tasks.result(task, _LONGEST_SECONDS)
    if ended is not None and ended.phase.final and ended.phase is not TaskPhase.SUCCEEDED:
        await queue.put(StreamPiece(ended=True, reason=ended.message or ended.phase))


async def _cancel(call: ApiCall, task: str) -> None:
    async with call.use(ENGINE).begin() as connection:
        await call.use(TASKS).cancel(connection, task)


def _events(piece: StreamPiece) -> bytes:
    parts = []
    if piece.dropped:
        parts.append(b"event: dropped\ndata: %d\n\n" % piece.dropped)
    if piece.text:
        text = msgspec.json.encode({"text": piece.text})
        parts.append(b"data: " + text + b"\n\n")
    if piece.ended:
        reason = msgspec.json.encode({"reason": piece.reason})
        parts.append(b"event: end\ndata: " + reason + b"\n\n")
    return b"".join(parts) or _SIGN_OF_LIFE


class LogsQuery(RequestModel, frozen=True, kw_only=True, omit_defaults=True):
    pod: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
    namespace: Annotated[str, msgspec.Meta(max_length=63)] = ""
    container: Annotated[str, msgspec.Meta(max_length=63)] = ""
    tail: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 200
    follow: bool = False
    previous: bool = False


async def get_logs(call: ApiCall, params: LogsQuery) -> web.StreamResponse:
    """Stream the log lines of one pod of an application."""
    new = await _asked(call, msgspec.convert(params, LogsArguments, from_attributes=True))
    task = await call.use(TASKS).submit(call.connection, new)
    detail = {"pod": params.pod, "task": task}
    await call.audit("logs.read", new.subject, project=new.project, detail=detail)
    return await streamed(call, new, task, _may_read)


async def get_event_stream(call: ApiCall, params: ObjectEventsQuery) -> web.StreamResponse:
    """Stream the Kubernetes events of an application: known ones, then each as it comes.

    Each line is one event in JSON; an empty line is a sign of life.
    """
    new = await _asked(call, msgspec.convert(params, EventStreamArguments, from_attributes=True))
    task = await call.use(TASKS).submit(call.connection, new)
    return await streamed(call, new, task, _may_read)


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/applications/{id}/events/stream",
        needs=VIEW,
        handler=get_event_stream,
        takes=ObjectEventsQuery,
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


async def _may_read(call: ApiCall) -> None:
    await apps.find(call, call.id, VIEW)


async def _asked(call: ApiCall, arguments: TaskArguments) -> QueuedTask:
    row = await apps.find(call, call.id, VIEW)
    check_there(row, call)
    await call.turn()
    return QueuedTask(
        account_id=call.account,
        agent_id=row.agent_id,
        actor=call.caller.name,
        subject=row.subject,
        project=row.project,
        arguments=arguments,
        principal_id=call.caller.id,
        not_after=call.now + timedelta(seconds=60),
        trace=trace_of(call.request),
    )
