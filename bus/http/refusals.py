"""Refusals are logged per address: the first at once, then as a count a minute.

A line for each refused request would let a stranger fill the disk. What is counted is lost neither
to the log, whose counts add up to what was refused, nor to the metrics, which count each at once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import structlog
from aiohttp import web

from bus.http.budget import holder_of

log = structlog.get_logger()

_WINDOW_SECONDS = 60.0
_MOST = 512
"""Addresses and reasons that are counted apart; the rest share a count by reason."""
_OTHERS = "others"


class Refusal(NamedTuple):
    """Who was refused, and why, in words of ours: nothing that was sent stands in it."""

    event: str
    address: str
    reason: str


@dataclass(slots=True, kw_only=True)
class RefusalCounts:
    """The counts. Pure: time is its caller's."""

    most: int = _MOST
    totals: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By event and reason, since the start."""
    _since: dict[Refusal, int] = field(default_factory=dict)

    def note(self, event: str, address: str, reason: str) -> Refusal | None:
        """The refusal where it is the first of its minute; None where it is only counted."""
        self.totals[event, reason] += 1
        refusal = Refusal(event, holder_of(address), reason)
        if refusal not in self._since and len(self._since) >= self.most:
            refusal = Refusal(event, _OTHERS, reason)
        if refusal in self._since:
            self._since[refusal] += 1
            return None
        self._since[refusal] = 0
        return refusal

    def take(self, refusal: Refusal) -> int:
        """How many followed since the last line; without any, the refusal is forgotten."""
        count = self._since.pop(refusal, 0)
        if count:
            self._since[refusal] = 0
        return count

    @property
    def counted(self) -> tuple[Refusal, ...]:
        """The refusals whose minute is not over."""
        return tuple(self._since)


@dataclass(slots=True, kw_only=True)
class RefusalLog:
    """The log of refusals, with a timer for each minute that is counted."""

    refusals: RefusalCounts = field(default_factory=RefusalCounts)
    window_seconds: float = _WINDOW_SECONDS
    _timers: dict[Refusal, asyncio.TimerHandle] = field(default_factory=dict)

    def __call__(
        self,
        emit: Callable[..., object],
        event: str,
        *,
        address: str | None,
        reason: str,
        about: Mapping[str, object],
    ) -> None:
        """Log the first refusal of a minute by `emit`, with `about`; count the rest."""
        first = self.refusals.note(event, address or "", reason)
        if first is None:
            return
        emit(event, address=address, **about)
        self._wait(first)

    async def close(self, _app: web.Application) -> None:
        """Log what is counted and not logged yet."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for refusal in self.refusals.counted:
            self._log_count(refusal)

    def _wait(self, refusal: Refusal) -> None:
        loop = asyncio.get_running_loop()
        self._timers[refusal] = loop.call_later(self.window_seconds, self._over, refusal)

    def _over(self, refusal: Refusal) -> None:
        del self._timers[refusal]
        if self._log_count(refusal):
            self._wait(refusal)

    def _log_count(self, refusal: Refusal) -> bool:
        count = self.refusals.take(refusal)
        if count:
            log.warning(
                "refused again and again",
                refused=refusal.event,
                address=refusal.address,
                reason=refusal.reason,
                count=count,
                within_seconds=self.window_seconds,
            )
        return bool(count)


REFUSALS = web.AppKey("refusals", RefusalLog)


def prepare_refusals(app: web.Application) -> None:
    """Give the application its log of refusals; it is written out when the application ends."""
    refusals = app[REFUSALS] = RefusalLog()
    app.on_cleanup.append(refusals.close)
