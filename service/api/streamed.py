"""Streamed: what a task says as it goes, as server-sent events; it is stored nowhere.

The agent sends no more than it has credit for, so a reader who is slow slows its own stream only;
what was left out is counted in the event `dropped`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import msgspec
from aiohttp import web

from bus.link import TaskPhase
from service.api.call import Call
from service.api.serve import HEADERS
from service.api.stream_access import Holds, while_allowed
from service.gateway.streams import Piece, Streams
from service.gateway.tasks import NewTask, Tasks

_LONGEST_SECONDS = 3600.0
_END_SECONDS = 1.0


async def streamed(call: Call, new: NewTask, task: str, holds: Holds) -> web.StreamResponse:
    """Listens before the task is committed, so that nothing is missed.

    `holds`: raises ProblemError where the caller may not read it (any more).
    """
    parts = call.tools.parts
    streams = Streams(engine=parts.engine, signals=parts.signals)
    response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
    with streams.reading(task) as queue:
        await call.release()
        await response.prepare(call.request)

        async def pump() -> None:
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(_until_refused(parts.tasks, task, queue), name="refused")
                async for piece in streams.follow(new.agent_id, task, queue):
                    await response.write(_events(piece))
                watch.cancel()

        try:
            reason = await while_allowed(call, holds, pump)
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
            await response.write(_events(Piece(ended=True, reason=reason)))


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
