"""The poll timer asks for a refresh of every repository in use once an interval.

Polling covers lost webhooks. Each repository has its own time, with a random offset, so that a
thousand repositories do not reach one Git host in the same second. The repositories in use are read
anew each time, so that new and deleted Applications need no notification.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf
from random import Random

import structlog

from bus.carrier import CarrierError, EventPublisher
from bus.events import RefreshRepository
from bus.identity import RepositoryKey
from handlers.ports import FollowedRepositories

log = structlog.get_logger()

LOOK_AT_LEAST_EVERY = 5.0
FIRST_WITHIN = 5.0


@dataclass(slots=True, kw_only=True)
class Schedule:
    """Decides when each repository is due; deterministic given `random`. Times are any clock's."""

    interval: float
    """Seconds; with 0 a repository is looked at once, when it comes into use."""
    jitter: float
    """Part of the interval, 0 to 1, by which a time is moved earlier or later."""
    random: Random
    _due: dict[RepositoryKey, float] = field(default_factory=dict)

    def due(self, now: float, in_use: Iterable[RepositoryKey]) -> tuple[RepositoryKey, ...]:
        """Return the repositories that are due, and set their next time; forget unused ones.

        A new repository (at the start, every one) is due within `FIRST_WITHIN`: its mirror may be
        older than what was pushed while no agent ran.
        """
        self._due = {key: self._due.get(key, now + self._first()) for key in sorted(set(in_use))}
        due = tuple(key for key, time_due in self._due.items() if time_due <= now)
        self._due |= {key: now + self._next() for key in due}
        return due

    def change(self, interval: float, now: float) -> None:
        """Look at each repository every `interval` from now on; no effect if that is as before."""
        if interval == self.interval:
            return
        self.interval = interval
        self._due = {key: min(at, now + self._next()) for key, at in self._due.items()}

    def wait(self, now: float) -> float:
        """Return the seconds until a repository may be due, `LOOK_AT_LEAST_EVERY` at most."""
        nearest = min(self._due.values(), default=now + LOOK_AT_LEAST_EVERY)
        return min(max(nearest - now, 0.0), LOOK_AT_LEAST_EVERY)

    def _first(self) -> float:
        return self.random.uniform(0, min(self.interval or FIRST_WITHIN, FIRST_WITHIN))

    def _next(self) -> float:
        if not self.interval:
            return inf
        return self.interval * (1 + self.jitter * self.random.uniform(-1, 1))


def _whole(ask: RefreshRepository) -> RefreshRepository:
    return ask


@dataclass(frozen=True, slots=True, kw_only=True)
class PollTimer:
    """Runs as long as the agent acts, as a task of its TaskGroup."""

    apps: FollowedRepositories
    publish: EventPublisher
    schedule: Schedule
    interval: Callable[[], float]
    """The seconds between two looks, by the settings of now."""
    now: Callable[[], float] = time.monotonic
    part_of: Callable[[RefreshRepository], RefreshRepository] = _whole
    """Directs an ask to one replica, where several divide the work."""

    async def run(self) -> None:
        while True:
            await self.publish_due()
            await asyncio.sleep(self.schedule.wait(self.now()))

    async def publish_due(self) -> None:
        """Publish an ask for every due repository; the others wait an interval."""
        now = self.now()
        self.schedule.change(self.interval(), now)
        due = self.schedule.due(now, self.apps.followed_repositories())
        try:
            for repository in due:
                await self.publish(self.part_of(RefreshRepository(repository=repository)))
        except CarrierError as e:
            log.warning("poll could not be published", error=str(e), repositories=len(due))
