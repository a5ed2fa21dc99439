"""A steady stream of requests over connections that are kept, at a rate that the sender can hold.

Bytes are made by the caller and answers are only counted: with a StreamReader and a timer for each
request the sender took more CPU than the server, and measured itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from benchmarks.storm_load import Ending, EndingCounts, ending_of, source

_HOST = "127.0.0.1"
_TICK_SECONDS = 0.005
_BEHIND_SECONDS = 1.0
"""What is due for longer is not sent any more: a server that stops is not flooded afterwards."""
_PATIENCE = 10.0
_HEAD_END, _LENGTH = b"\r\n\r\n", b"content-length:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """`rate` requests a second for so many seconds; `request` makes the bytes of each."""

    port: int
    rate: float
    seconds: float
    senders: int
    request: Callable[[int], bytes]

    async def run(self) -> EndingCounts:
        """Send them, each on a connection whose last answer is here."""
        ends = EndingCounts()
        senders = [_Sender(ends) for _ in range(self.senders)]
        try:
            await self._throttle(senders)
            ends[Ending.OPEN] += await _unanswered(senders)
        finally:
            for sender in senders:
                sender.close()
        return ends

    async def _throttle(self, senders: list[_Sender]) -> None:
        at = began = time.monotonic()
        sent, due = 0, 0.0
        while (now := time.monotonic()) < began + self.seconds:
            due, at = min(due + (now - at) * self.rate, self.rate * _BEHIND_SECONDS), now
            await self._connect(senders)
            for sender in [it for it in senders if it.is_free][: int(due)]:
                sender.send(self.request(sent))
                sent, due = sent + 1, due - 1
            await asyncio.sleep(_TICK_SECONDS)

    async def _connect(self, senders: list[_Sender]) -> None:
        loop = asyncio.get_running_loop()
        for number, sender in enumerate(senders):
            if not sender.is_connected:
                address = (source(number), 0)
                await loop.create_connection(
                    lambda it=sender: it,  # type: ignore[misc]  # one of its own a connection
                    _HOST,
                    self.port,
                    local_addr=address,
                )


async def _unanswered(senders: list[_Sender]) -> int:
    """The number of answers that do not come for a long time."""
    for _ in range(int(_PATIENCE / _TICK_SECONDS)):
        if not any(sender.waits for sender in senders):
            break
        await asyncio.sleep(_TICK_SECONDS)
    return sum(sender.waits for sender in senders)


@dataclass(slots=True, eq=False)
class _Sender(asyncio.Protocol):
    """One connection: sends a request when it is told to, and counts how it ended."""

    ends: EndingCounts
    waits: bool = False
    _transport: asyncio.Transport | None = None
    _answer: bytes = field(default=b"")

    @property
    def is_connected(self) -> bool:
        return self._transport is not None

    @property
    def is_free(self) -> bool:
        return self._transport is not None and not self.waits

    def send(self, request: bytes) -> None:
        if self._transport is not None:
            self.waits = True
            self._transport.write(request)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, end, body = self._answer.partition(_HEAD_END)
        length = head.lower().partition(_LENGTH)[2].partition(b"\r\n")[0]
        if end and len(body) >= int(length or 0):
            self._end(ending_of(head))

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        if self.waits:
            self._end(Ending.CUT)

    def _end(self, ending: Ending) -> None:
        self.ends[ending] += 1
        self.waits, self._answer = False, b""
