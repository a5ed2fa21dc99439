"""Signals -> drain -> deadline -> cancel.

The first SIGTERM or SIGINT sets an event: whoever waits for it closes the house in order. A second
signal, or a drain that meets its deadline, cancels. Cancellation itself is nobody's to swallow.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import structlog

log = structlog.get_logger()

SIGNALS = (signal.SIGTERM, signal.SIGINT)
DrainStep = tuple[str, Callable[[], Awaitable[None]]]


class Stopping:
    """What the signals say: `wait` returns at the first, the owner is cancelled at the second."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        self._cancel = cancel
        self._asked = asyncio.Event()

    @property
    def asked(self) -> bool:
        return self._asked.is_set()

    def ask(self, why: str) -> None:
        if self.asked:
            log.warning("told to stop again: not waiting any longer", why=why)
            self._cancel()
            return
        log.info("stopping", why=why)
        self._asked.set()

    async def wait(self) -> None:
        await self._asked.wait()


@asynccontextmanager
async def stopping() -> AsyncIterator[Stopping]:
    """Listens to the signals for as long as the block lasts; a second one cancels this task."""
    owner = asyncio.current_task()
    assert owner is not None
    told = Stopping(owner.cancel)
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, told.ask, signal.Signals(number).name)
    try:
        yield told
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def drain(steps: Sequence[DrainStep], seconds: float) -> tuple[str, ...]:
    """Take the steps in order; the names of those that the deadline left undone."""
    undone = [name for name, _ in steps]
    try:
        async with asyncio.timeout(seconds):
            for name, step in steps:
                await step()
                undone.remove(name)
    except TimeoutError:
        log.warning("drain met its deadline", seconds=seconds, undone=undone)
    return tuple(undone)
