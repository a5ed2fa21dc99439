"""Streams of tasks (logs, events), from the replica that holds the link to any reader.

Pieces travel as signals on a channel of the task and are stored nowhere. The reader gives credit;
the agent sends no more than that.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from bus.link import Chunk, End, TerminalInput
from service.store import signals
from service.store.link_signals import LinkSignal, signal_link
from service.store.signals import Signals
from service.store.tables import tasks

CREDIT = 64
_PIECE, _PLAIN_PIECE = 1200, 3600
"""Characters: a signal holds 8000 bytes. One may be six of them in JSON; of plain text two."""
_NOT_PLAIN = re.compile(r"[^\n\r\t -~]")
_WAITING = 2000
_IDLE_SECONDS = 60.0


class StreamPiece(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Part of a chunk; `last` of its chunk, which costs one credit.

    `place` makes each piece another one: PostgreSQL sends equal signals of a transaction once.
    """

    place: tuple[int, int] = (0, 0)
    text: str = ""
    dropped: int = 0
    last: bool = False
    ended: bool = False
    reason: str = ""


_LISTENING = StreamPiece(place=(-1, -1))
"""From here on no piece is missed: nothing is asked for before."""


def channel(task_id: str) -> str:
    return f"stream_{task_id}"


def pieces(part: Chunk | End) -> Iterator[StreamPiece]:
    """Small enough for a signal."""
    if isinstance(part, End):
        yield StreamPiece(ended=True, reason=part.reason[:400])
        return
    size = _PIECE if _NOT_PLAIN.search(part.text) else _PLAIN_PIECE
    starts = range(0, max(len(part.text), 1), size)
    for number, start in enumerate(starts):
        yield StreamPiece(
            place=(part.number, number),
            text=part.text[start : start + size],
            dropped=part.dropped if start == 0 else 0,
            last=start == starts[-1],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStreams:
    engine: AsyncEngine
    signals: Signals

    @contextmanager
    def reading(self, task_id: str) -> Iterator[asyncio.Queue[StreamPiece]]:
        """Open it before the task is submitted: what is sent before is not seen."""
        queue: asyncio.Queue[StreamPiece] = asyncio.Queue(_WAITING)

        def receive(payload: str) -> None:
            piece = msgspec.json.decode(payload, type=StreamPiece) if payload else _LISTENING
            if not queue.full():
                queue.put_nowait(piece)

        with self.signals.subscribed(channel(task_id), receive):
            yield queue

    async def follow(
        self, agent_id: str, task_id: str, queue: asyncio.Queue[StreamPiece]
    ) -> AsyncIterator[StreamPiece]:
        """Gives credit as it goes; ends with the stream, or after a minute of silence."""
        while (piece := await _next(queue)) != _LISTENING:
            yield piece
            if piece.ended:
                return
        await self.credit(agent_id, task_id, CREDIT)
        owed = 0
        while True:
            piece = await _next(queue)
            if piece == _LISTENING:
                continue
            if piece.ended:
                yield piece
                return
            yield piece
            owed += piece.last
            if owed >= CREDIT // 2:
                await self.credit(agent_id, task_id, owed)
                owed = 0

    async def credit(self, agent_id: str, task_id: str, chunks: int) -> None:
        async with self.engine.begin() as connection:
            await signal_link(
                connection, LinkSignal(agent_id=agent_id, stream=task_id, credit=chunks)
            )

    async def type(self, agent_id: str, frame: TerminalInput) -> None:
        """Send input to the agent; the caller waits for each, so that they keep their order."""
        async with self.engine.begin() as connection:
            await signal_link(connection, LinkSignal(agent_id=agent_id, typed=frame))

    async def relay(self, agent_id: str, part: Chunk | End) -> None:
        """Of the agent's own tasks only: nobody writes into the stream of another."""
        query = select(tasks.c.id).where(tasks.c.id == part.task, tasks.c.agent_id == agent_id)
        async with self.engine.begin() as connection:
            if (await connection.execute(query)).first() is None:
                return
            for piece in pieces(part):
                payload = msgspec.json.encode(piece).decode()
                await signals.send(connection, channel(part.task), payload)


async def _next(queue: asyncio.Queue[StreamPiece]) -> StreamPiece:
    try:
        async with asyncio.timeout(_IDLE_SECONDS):
            return await queue.get()
    except TimeoutError:
        return StreamPiece(ended=True, reason="nothing came for a minute")
