"""LinkSession: runs one link from Hello until the link is lost; owns its tasks and its timers.

LinkProtocol decides what each step does. Here every kind of step has a task that repeats it: for
each frame, whenever the outbox changes, or at an interval.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent.bridge.connection.link_protocol import LinkProtocol
from agent.bridge.transport.link import LinkLostError, LinkRefusedError
from bus.carrier import CarrierError
from bus.link import Welcome

_WELCOME_SECONDS = 20.0
_IDLE_SECONDS = 5.0
_QUIET_SECONDS = 0.25
_PURGE_SECONDS = 1.0
_OUTBOX_SECONDS = 15.0


@dataclass(slots=True, kw_only=True)
class LinkSession:
    """`run` returns by raising LinkLostError."""

    protocol: LinkProtocol
    stale: asyncio.Event
    """Set when the Hello is outdated: the agent connects again and sends a new one."""

    @property
    def welcome(self) -> Welcome | None:
        return self.protocol.welcome

    async def run(self) -> None:
        task_sink, link = self.protocol.task_sink, self.protocol.link
        try:
            await self._greet()
            task_sink.connected(link)
            async with asyncio.TaskGroup() as tasks:
                for work in self._works():
                    tasks.create_task(work(), name=f"link-{work.__name__.strip('_')}")
        except* (LinkLostError, CarrierError) as ended:
            raise _first(ended) from None
        finally:
            task_sink.connected(None)

    def _works(self) -> Sequence[Callable[[], Coroutine[Any, Any, None]]]:
        guards = (self._beat, self._check, self._until_stale)
        return (self._receive, self._send, self._purge, self._compare, *guards)

    async def _greet(self) -> None:
        await self.protocol.link.send(self.protocol.hello)
        try:
            async with asyncio.timeout(_WELCOME_SECONDS):
                frame = await self.protocol.link.receive()
        except TimeoutError as error:
            raise LinkLostError("no welcome in time") from error
        await self.protocol.on_welcome(frame, time.monotonic())

    async def _receive(self) -> None:
        while True:
            frame = await self.protocol.link.receive()
            await self.protocol.on_frame(frame, time.monotonic())

    async def _send(self) -> None:
        outbox_changed = self.protocol.recorder.outbox_changed
        while True:
            outbox_changed.clear()
            if not await self.protocol.send(time.monotonic()):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_IDLE_SECONDS):
                        await outbox_changed.wait()

    async def _beat(self) -> None:
        while True:
            await self.protocol.beat(time.monotonic(), time.time())
            await asyncio.sleep(self.protocol.check_every)

    async def _purge(self) -> None:
        while True:
            await asyncio.sleep(_PURGE_SECONDS)
            await self.protocol.purge()

    async def _compare(self) -> None:
        while True:
            await self.protocol.compare(time.monotonic())
            await asyncio.sleep(_QUIET_SECONDS)

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(_OUTBOX_SECONDS)
            await self.protocol.check()

    async def _until_stale(self) -> None:
        await self.stale.wait()
        self.stale.clear()
        raise LinkLostError("what this agent allows has changed")


def _first(group: ExceptionGroup[LinkLostError | CarrierError]) -> LinkLostError:
    """The error to report; a refusal by the service counts more than any other."""
    found = list(_flat(group))
    for error in found:
        if isinstance(error, LinkRefusedError):
            return error
    first = found[0]
    return first if isinstance(first, LinkLostError) else LinkLostError(f"outbox: {first}")


def _flat(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _flat(one)
    else:
        yield error
