"""A shutdown begins with a signal, drains until a deadline, and then cancels.

The first SIGTERM or SIGINT sets an event, on which the owner closes its parts in order. A second
signal, or a drain that meets its deadline, cancels. No code may swallow that cancellation.
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


class ShutdownSignal:
    """`wait` returns at the first signal; the second one cancels the owner."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        self._cancel = cancel
        self._asked = asyncio.Event()

    @property
    def asked(self) -> bool:
        return self._asked.is_set()

    def ask(self, why: str) -> None:
        if self.asked:
            log.warning("second signal: not waiting any longer", why=why)
            self._cancel()
            return
        log.info("stopping", why=why)
        self._asked.set()

    async def wait(self) -> None:
        await self._asked.wait()


@asynccontextmanager
async def stopping() -> AsyncIterator[ShutdownSignal]:
    """Handle the signals during the block; a second one cancels this task."""
    owner = asyncio.current_task()
    assert owner is not None
    shutdown = ShutdownSignal(owner.cancel)
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, shutdown.ask, signal.Signals(number).name)
    try:
        yield shutdown
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def drain(steps: Sequence[DrainStep], seconds: float) -> tuple[str, ...]:
    """Take the steps in order; return the names of those that the deadline left undone."""
    undone = [name for name, _ in steps]
    try:
        async with asyncio.timeout(seconds):
            for name, step in steps:
                await step()
                undone.remove(name)
    except TimeoutError:
        log.warning("drain met its deadline", seconds=seconds, undone=undone)
    return tuple(undone)
