"""Session: the life of one link, from Hello until it is lost. It owns its tasks and the time.

What is said and answered is decided by Talk, step by step; here each kind of step has a task of
its own that repeats it: at once, when there is news, or now and again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent.bridge.link import LinkLostError, LinkRefusedError
from agent.bridge.talk import Talk
from bus.carrier import CarrierError
from bus.link import Welcome

_WELCOME_SECONDS = 20.0
_IDLE_SECONDS = 5.0
_QUIET_SECONDS = 0.25
_FORGET_SECONDS = 1.0
_OUTBOX_SECONDS = 15.0


@dataclass(slots=True, kw_only=True)
class Session:
    """`run` returns by raising LinkLostError."""

    talk: Talk
    stale: asyncio.Event
    """What Hello said is not true any more: say it anew."""

    @property
    def welcome(self) -> Welcome | None:
        return self.talk.welcome

    async def run(self) -> None:
        desk, link = self.talk.desk, self.talk.link
        try:
            await self._greet()
            desk.connected(link)
            async with asyncio.TaskGroup() as tasks:
                for work in self._works():
                    tasks.create_task(work(), name=f"link-{work.__name__.strip('_')}")
        except* (LinkLostError, CarrierError) as ended:
            raise _first(ended) from None
        finally:
            desk.connected(None)

    def _works(self) -> Sequence[Callable[[], Coroutine[Any, Any, None]]]:
        guards = (self._beat, self._check, self._until_stale)
        return (self._receive, self._send, self._forget, self._compare, *guards)

    async def _greet(self) -> None:
        await self.talk.link.send(self.talk.hello)
        try:
            async with asyncio.timeout(_WELCOME_SECONDS):
                frame = await self.talk.link.receive()
        except TimeoutError as error:
            raise LinkLostError("no welcome in time") from error
        await self.talk.greet(frame, time.monotonic())

    async def _receive(self) -> None:
        while True:
            frame = await self.talk.link.receive()
            await self.talk.hear(frame, time.monotonic())

    async def _send(self) -> None:
        news = self.talk.recorder.news
        while True:
            news.clear()
            if not await self.talk.send(time.monotonic()):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_IDLE_SECONDS):
                        await news.wait()

    async def _beat(self) -> None:
        while True:
            await self.talk.beat(time.monotonic(), time.time())
            await asyncio.sleep(self.talk.look_every)

    async def _forget(self) -> None:
        while True:
            await asyncio.sleep(_FORGET_SECONDS)
            await self.talk.forget()

    async def _compare(self) -> None:
        while True:
            await self.talk.compare(time.monotonic())
            await asyncio.sleep(_QUIET_SECONDS)

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(_OUTBOX_SECONDS)
            await self.talk.check()

    async def _until_stale(self) -> None:
        await self.stale.wait()
        self.stale.clear()
        raise LinkLostError("what this agent allows has changed")


def _first(group: ExceptionGroup[LinkLostError | CarrierError]) -> LinkLostError:
    """One reason is enough to say; what the service told us counts most."""
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
