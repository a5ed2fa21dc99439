"""The WebSocket of one agent: it reads and writes, and decides nothing.

Two named tasks share the link's state under a lock: one reads the agent's frames, the other waits
for link signals and the clock. A frame is read when everything that the one before caused is done,
so an agent that sends faster than the service stores fills its own TCP window only. Sending has a
deadline: an agent that does not read is cut off.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
import structlog
from aiohttp import WSMsgType, web
from sqlalchemy.exc import SQLAlchemyError

from bus.link import MAX_FRAME, DownFrame, UpFrame
from service.gateway import effects as fx
from service.gateway.connection import step
from service.gateway.effect_runner import EffectRunner
from service.gateway.link_state import AGAIN_LATER, LinkState
from service.store.link_signals import LinkSignal

log = structlog.get_logger()

_SEND_SECONDS = 10.0
_TICK_SECONDS = 1.0
_REASON_BYTES = 120
_UNREADABLE = 1007
_TOO_LARGE = 1009
_TIME = struct.Struct("!d")
_NUL = rb"\u0000"
_NO_NUL = rb"\ufffd"
"""PostgreSQL keeps no NUL in text; the replacement character stands for it."""
_FRAMES: msgspec.json.Decoder[UpFrame] = msgspec.json.Decoder(UpFrame)


def new_socket() -> web.WebSocketResponse:
    """Pings are answered by hand, because their answers are measured."""
    return web.WebSocketResponse(
        max_msg_size=MAX_FRAME, timeout=5.0, compress=False, autoping=False
    )


class _Over(Exception):  # noqa: N818  not an error: how both tasks end
    pass


@dataclass(slots=True, kw_only=True)
class AgentSocket:
    """`run` returns when the connection is over, whoever ended it."""

    socket: web.WebSocketResponse
    link: LinkState
    effect_runner: EffectRunner
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _signals: deque[LinkSignal] = field(default_factory=deque)
    _wished: asyncio.Event = field(default_factory=asyncio.Event)

    _last: tuple[int, bytes] = (1000, b"")

    def receive(self, signal: LinkSignal) -> None:
        """Equal wishes that wait are one, but for credit, which adds up."""
        if signal.credit or signal not in self._signals:
            self._signals.append(signal)
        self._wished.set()

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._read(), name=f"read {self.link.caller.agent}")
                tasks.create_task(self._listen(), name=f"wishes of {self.link.caller.agent}")
        except* _Over:
            await self.socket.close(code=self._last[0], message=self._last[1])
        finally:
            if self.link.opened is not None:
                await self.effect_runner.close(self.link.opened)

    async def _read(self) -> None:
        async for message in self.socket:
            match message.type:
                case WSMsgType.TEXT | WSMsgType.BINARY:
                    frame = await self._decoded(message.data)
                    await asyncio.sleep(await self._feed(frame))
                case WSMsgType.PING:
                    await self.socket.pong(message.data)
                case WSMsgType.PONG:
                    await self._feed(fx.PongReceived(took=self._now() - _sent_at(message.data)))
                case _:
                    break
        raise _Over

    async def _listen(self) -> None:
        """Feed signals as they come and a tick each second, however many signals there are."""
        loop = asyncio.get_running_loop()
        due = loop.time() + _TICK_SECONDS
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._wished.wait()
            self._wished.clear()
            for _ in range(len(self._signals)):
                await self._feed(self._signals.popleft())
            if loop.time() >= due:
                # After the signals: one of them may have renewed a session that is over.
                await self._feed(fx.ClockTick())
                due = loop.time() + _TICK_SECONDS

    async def _decoded(self, data: str | bytes) -> UpFrame:
        raw = data.encode() if isinstance(data, str) else data
        try:
            return _FRAMES.decode(raw.replace(_NUL, _NO_NUL))
        except (msgspec.DecodeError, UnicodeError, RecursionError) as e:
            self._close(_UNREADABLE, f"a frame that cannot be read: {e}")
            raise _Over from e

    async def _feed(self, event: fx.Input) -> float:
        """Step, and carry out what follows, until nothing follows. Seconds to wait after it."""
        async with self._lock:
            wait = 0.0
            inputs: deque[fx.Input] = deque((event,))
            while inputs:
                stepped = step(self.link, inputs.popleft(), self._now())
                self.link = stepped.link
                wait = max(wait, stepped.wait)
                await self._send(stepped.frames)
                inputs.extend(await self._carried(stepped.effects))
            return wait

    async def _carried(self, effects: Iterable[fx.Effect]) -> list[fx.Input]:
        try:
            answers = [await self._carry(effect) for effect in effects]
        except (SQLAlchemyError, OSError, TimeoutError) as e:
            log.warning(
                "link ended: the database", agent=self.link.caller.agent, error=str(e)[:400]
            )
            self._close(AGAIN_LATER, "the service cannot store just now: come back soon")
            raise _Over from e
        return [answer for answer in answers if answer is not None]

    async def _carry(self, effect: fx.Effect) -> fx.Input | None:
        match effect:
            case fx.CloseLink():
                self._close(effect.code, effect.reason)
                raise _Over
            case fx.OpenLink():
                return await self.effect_runner.open(self.link.caller, effect)
            case fx.PingAgent():
                await self._ping()
                return None
            case _ if self.link.opened is None:
                return None
            case _:
                return await self.effect_runner(self.link.opened, effect)

    async def _send(self, frames: Iterable[DownFrame]) -> None:
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                for frame in frames:
                    await self.socket.send_str(msgspec.json.encode(frame).decode())
        except (TimeoutError, ConnectionError) as e:
            raise _Over from e

    async def _ping(self) -> None:
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                await self.socket.ping(_TIME.pack(self._now()))
        except (TimeoutError, ConnectionError) as e:
            raise _Over from e

    def _close(self, code: int, reason: str) -> None:
        """Close the socket when both tasks have ended: the handshake needs the reader to itself."""
        log.info("link closed", agent=self.link.caller.agent, code=code, reason=reason)
        self._last = (code, reason.encode()[:_REASON_BYTES])

    def _now(self) -> float:
        return self.effect_runner.clock().timestamp()


def _sent_at(data: bytes) -> float:
    """Of our own ping; whoever answers something else measures nonsense about itself."""
    return float(_TIME.unpack(data)[0]) if len(data) == _TIME.size else 0.0
