"""Health of the agent: what keeps it from being ready, and which stores are nearly full.

Readiness is a set of named conditions, each with the reason why it does not hold. Ready and acting
differ. A ready agent may get traffic; a standby is ready too, as it is warm and takes webhooks for
the acting agent. An acting agent holds the Lease and runs its handlers. Conditions are evaluated at
each request, so no answer is outdated. A live agent is one that answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog

from agent.observe.metrics import AgentMetrics
from agent.subscribers import Subscribers
from bus.carrier import CarrierError
from bus.jetstream.store_usage import StoreUsage, alarms

log = structlog.get_logger()

Probe = Callable[[], str]
"""Returns why the condition does not hold; empty when it holds. Never blocks."""

READY: Probe = str
_USAGE_SECONDS = 15.0

Usage = Callable[[], Awaitable[Sequence[StoreUsage]]]


class Readiness:
    def __init__(self) -> None:
        self._probes: dict[str, Probe] = {}
        self._to_act: set[str] = set()
        self.changes = Subscribers[[]]()
        """Called when a condition holds or no longer holds, as far as somebody announces it."""
        self.standby = ""
        """The agent that acts instead of this one; empty where none is known."""

    def require(self, name: str, probe: Probe, *, to_act: bool = False) -> None:
        """Require condition `name`; a later call with the same name replaces the probe.

        A condition `to_act` does not keep a standby from being ready.
        """
        self._probes[name] = probe
        if to_act:
            self._to_act.add(name)
        self.changes.notify()

    def wait_for(self, name: str, why: str, *, to_act: bool = False) -> None:
        """Require condition `name`, which does not hold until `hold(name)`."""
        self.require(name, lambda: why, to_act=to_act)

    def hold(self, name: str) -> None:
        self.require(name, READY)

    def missing(self) -> dict[str, str]:
        """List the conditions that keep the agent from being ready, with reasons."""
        excused = self._to_act if self.standby else frozenset()
        return {name: why for name, why in self.idle().items() if name not in excused}

    def idle(self) -> dict[str, str]:
        """List all conditions that do not hold; empty when this agent acts."""
        return {name: why for name, probe in self._probes.items() if (why := probe())}


@dataclass(slots=True, kw_only=True)
class StoreWatch:
    """Puts the usage of the agent's streams into metrics, and alarms into the log.

    Logs an alarm once when it begins and once when it ends.
    """

    usage: Usage
    metrics: AgentMetrics
    alarm: str = field(default="", init=False)
    """The alarm that the agent's health shows; empty while no store is nearly full."""
    changes: Subscribers[[]] = field(default_factory=Subscribers[[]], init=False)
    """Called when the alarm has changed."""

    async def run(self, interval: float = _USAGE_SECONDS) -> None:
        """Measure for ever; a failed measurement is repeated at the next interval."""
        while True:
            try:
                self.note(await self.usage())
            except CarrierError as error:
                log.debug("store usage not read", reason=str(error))
            await asyncio.sleep(interval)

    def note(self, found: Sequence[StoreUsage]) -> None:
        for store in found:
            self.metrics.store_bytes.labels(store.name).set(store.used)
            self.metrics.store_limit_bytes.labels(store.name).set(store.limit)
        now = "; ".join(alarms(found))
        self.metrics.store_alarm.set(bool(now))
        if now and not self.alarm:
            log.warning("the store of the bus is nearly full", stores=now)
        elif self.alarm and not now:
            log.info("the store of the bus is no longer nearly full")
        before, self.alarm = self.alarm, now
        if now != before:
            self.changes.notify()
