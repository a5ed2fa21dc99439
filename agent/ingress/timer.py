"""The safety net under the webhooks: every repository in use is looked at once an interval.

Each repository has its own moment, moved a little by chance, so that a thousand of them do not
knock at one Git host at the same second. Which repositories are in use is read anew each time:
nothing has to be told when Applications come and go.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

import structlog

from bus.carrier import CarrierError
from bus.events import Event, RefreshRepository
from bus.identity import RepositoryKey
from handlers.application.application import Application

log = structlog.get_logger()

LOOK_AT_LEAST_EVERY = 5.0
FIRST_WITHIN = 5.0


class AllApps(Protocol):
    def all(self) -> Sequence[Application]: ...


class Publish(Protocol):
    async def __call__(self, *events: Event, message_id: str = "") -> object: ...


@dataclass(slots=True, kw_only=True)
class Schedule:
    """When each repository is due; deterministic given `random`. Times are seconds of any clock."""

    interval: float
    jitter: float
    """Part of the interval, 0 to 1, by which a moment is moved earlier or later."""
    random: Random
    _due: dict[RepositoryKey, float] = field(default_factory=dict)

    def due(self, now: float, in_use: Iterable[RepositoryKey]) -> tuple[RepositoryKey, ...]:
        """Those whose time has come, with their next moment set; unused ones are forgotten.

        A repository first seen, as all are at the start, is due within `FIRST_WITHIN`: its mirror
        may be older than what was pushed while nobody listened.
        """
        self._due = {key: self._due.get(key, now + self._first()) for key in sorted(set(in_use))}
        ripe = tuple(key for key, moment in self._due.items() if moment <= now)
        self._due |= {key: now + self._next() for key in ripe}
        return ripe

    def wait(self, now: float) -> float:
        """Seconds until something may be due, `LOOK_AT_LEAST_EVERY` at most."""
        nearest = min(self._due.values(), default=now + LOOK_AT_LEAST_EVERY)
        return min(max(nearest - now, 0.0), LOOK_AT_LEAST_EVERY)

    def _first(self) -> float:
        return self.random.uniform(0, min(self.interval, FIRST_WITHIN))

    def _next(self) -> float:
        return self.interval * (1 + self.jitter * self.random.uniform(-1, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class PollTimer:
    """A long task of the composition root: `tasks.create_task(timer.run(), name="poll-timer")`."""

    apps: AllApps
    publish: Publish
    schedule: Schedule
    now: Callable[[], float] = time.monotonic

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(self.schedule.wait(self.now()))

    async def look(self) -> None:
        """Publish an ask for every repository that is due. A failed one is due again in time."""
        in_use = (app.repository for app in self.apps.all())
        ripe = self.schedule.due(self.now(), (key for key in in_use if key is not None))
        try:
            for repository in ripe:
                await self.publish(RefreshRepository(repository=repository))
        except CarrierError as e:
            log.warning("poll could not be published", error=str(e), repositories=len(ripe))
