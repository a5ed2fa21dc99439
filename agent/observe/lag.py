"""How late the event loop is: the first sign that something blocks it, or that it is full."""

from __future__ import annotations

import asyncio
from typing import Protocol

INTERVAL = 0.25


class LagGauge(Protocol):
    def set(self, value: float) -> None: ...


async def watch_lag(gauge: LagGauge, interval: float = INTERVAL) -> None:
    """For ever: sleep, and tell how much longer it took. A long task of the composition root."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + interval
        await asyncio.sleep(interval)
        gauge.set(max(loop.time() - due, 0.0))
