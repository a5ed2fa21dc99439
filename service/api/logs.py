"""Logs of a pod, as server-sent events: they pass through and are stored nowhere.

The agent sends no more than it has credit for, so a reader who is slow slows its own stream only;
lines that were left out are counted in the event `dropped`.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Annotated

import msgspec
from aiohttp import web

from bus.link import TaskKind, TaskPhase
from service.access.permissions import Permission
from service.api import applications as apps
from service.api.call import Call
from service.api.endpoint import Endpoint, Given
from service.api.reads import check_there
from service.api.serve import HEADERS
from service.gateway.streams import Piece, Streams
from service.gateway.tasks import NewTask, Tasks

VIEW = Permission.APPLICATION_VIEW
_LONGEST_SECONDS = 3600.0


class LogsQuery(Given, frozen=True, kw_only=True, omit_defaults=True):
    pod: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
    namespace: Annotated[str, msgspec.Meta(max_length=63)] = ""
    container: Annotated[str, msgspec.Meta(max_length=63)] = ""
    tail: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 200
    follow: bool = False
    previous: bool = False


async def get_logs(call: Call, given: LogsQuery) -> web.StreamResponse:
    """Lines of one pod of the application, followed if asked for."""
    row = await apps.find(call, call.id, VIEW)
    check_there(row, call)
    subject = f"{row['namespace']}/{row['name']}"
    await call.turn()
    parts = call.tools.parts
    new = NewTask(
        account_id=call.account,
        agent_id=row["agent_id"],
        kind=TaskKind.LOGS,
        actor=call.caller.name,
        subject=subject,
        project=row["project"],
        arguments={**msgspec.to_builtins(given), "tail": given.tail},
        principal_id=call.caller.id,
        not_after=call.now + timedelta(seconds=60),
    )
    task = await parts.tasks.submit(call.connection, new)
    await call.audit(
        "logs.read", subject, project=row["project"], detail={"pod": given.pod, "task": task}
    )
    return await _stream(call, Streams(engine=parts.engine, signals=parts.signals), new, task)


async def _stream(call: Call, streams: Streams, new: NewTask, task: str) -> web.StreamResponse:
    """Listens before the task is committed, so that nothing is missed."""
    response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
    parts = call.tools.parts
    with streams.reading(task) as queue:
        await call.release()
        await response.prepare(call.request)
        try:
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(_until_refused(parts.tasks, task, queue), name="logs")
                async for piece in streams.follow(new.agent_id, task, queue):
                    await response.write(_events(piece))
                watch.cancel()
        except* ConnectionError:
            pass  # the reader is gone; the task is ended below, as for every other end
        finally:
            await _cancel(call, task)
    return response


async def _until_refused(tasks: Tasks, task: str, queue: asyncio.Queue[Piece]) -> None:
    """A stream ends with its last piece; a refused task never has one."""
    ended = await tasks.result(task, _LONGEST_SECONDS)
    if ended is not None and ended.phase.final and ended.phase is not TaskPhase.SUCCEEDED:
        await queue.put(Piece(ended=True, reason=ended.message or ended.phase))


async def _cancel(call: Call, task: str) -> None:
    async with call.tools.parts.engine.begin() as connection:
        await call.tools.parts.tasks.cancel(connection, task)


def _events(piece: Piece) -> bytes:
    parts = []
    if piece.dropped:
        parts.append(b"event: dropped\ndata: %d\n\n" % piece.dropped)
    if piece.text:
        text = msgspec.json.encode({"text": piece.text})
        parts.append(b"data: " + text + b"\n\n")
    if piece.ended:
        reason = msgspec.json.encode({"reason": piece.reason})
        parts.append(b"event: end\ndata: " + reason + b"\n\n")
    return b"".join(parts)


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/applications/{id}/logs",
        needs=VIEW,
        handler=get_logs,
        takes=LogsQuery,
        media="text/event-stream",
    ),
)
