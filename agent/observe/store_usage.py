"""StoreWatch: how full the agent's streams are, as metrics, and in words when a person must act."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog

from agent.observe.metrics import Metrics
from bus.carrier import CarrierError
from bus.jetstream.usage import StoreUsage, alarms

log = structlog.get_logger()

INTERVAL = 15.0

Usage = Callable[[], Awaitable[Sequence[StoreUsage]]]


@dataclass(slots=True, kw_only=True)
class StoreWatch:
    """Says so in the log once when an alarm begins and once when it ends."""

    usage: Usage
    metrics: Metrics
    alarm: str = field(default="", init=False)
    """What the agent's health shows of NATS; empty while there is room everywhere."""

    async def run(self, interval: float = INTERVAL) -> None:
        """For ever; what cannot be asked now is asked again."""
        while True:
            try:
                self.note(await self.usage())
            except CarrierError as error:
                log.debug("store not looked at", reason=str(error))
            await asyncio.sleep(interval)

    def note(self, found: Sequence[StoreUsage]) -> None:
        for one in found:
            self.metrics.store_bytes.labels(one.name).set(one.used)
            self.metrics.store_limit_bytes.labels(one.name).set(one.limit)
        now = "; ".join(alarms(found))
        self.metrics.store_alarm.set(bool(now))
        if now and not self.alarm:
            log.warning("the store of the bus is nearly full", stores=now)
        elif self.alarm and not now:
            log.info("the store of the bus has room again")
        self.alarm = now
