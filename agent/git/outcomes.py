"""Outcomes: how the last fetch with each Secret ended, for whoever reports connections. In memory.

A Secret of a prefix serves several repositories: it works while all of those do that were fetched
with it lately; a failure is told until its repository is fetched again or nobody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from agent.git.credentials import Credential
from handlers.ports import Clock
from handlers.report.items import FAILED, SUCCESSFUL, ConnectionState

_KEPT = timedelta(hours=1)
_TOLD_AGAIN = timedelta(minutes=5)
"""The time of an unchanged state is news only so often."""

Changed = Callable[[str], None]
"""Called with `namespace/name` of a Secret."""


class Fetched(NamedTuple):
    at: datetime
    failure: str
    """Why it failed; empty where it did not."""


class FetchOutcomes:
    def __init__(self, clock: Clock, subscribers: Iterable[Changed] = ()) -> None:
        self._clock = clock
        self._subscribers = list(subscribers)
        self._fetched: dict[str, dict[str, Fetched]] = {}
        self._states: dict[str, tuple[datetime, ConnectionState]] = {}

    def subscribe(self, changed: Changed) -> None:
        self._subscribers.append(changed)

    def of(self, secret: str) -> ConnectionState | None:
        """None where nothing was fetched with it in this life of the agent."""
        found = self._states.get(secret)
        return found[1] if found else None

    def record(self, url: str, credential: Credential | None, failure: str = "") -> None:
        for secret in credential.secrets if credential else ():
            self._record(secret, url, Fetched(self._clock.now(), failure))

    def _record(self, secret: str, url: str, fetched: Fetched) -> None:
        recent = {
            other: one
            for other, one in self._fetched.get(secret, {}).items()
            if fetched.at - one.at < _KEPT
        }
        self._fetched[secret] = recent = {**recent, url: fetched}
        failed = [one for _, one in sorted(recent.items()) if one.failure]
        shown = failed[0] if failed else fetched
        state = ConnectionState(
            status=FAILED if failed else SUCCESSFUL,
            message=shown.failure,
            attempted_at=shown.at.isoformat(),
        )
        self._become(secret, state, fetched.at)

    def _become(self, secret: str, state: ConnectionState, now: datetime) -> None:
        before = self._states.get(secret)
        if before and before[1].says_as(state) and now - before[0] < _TOLD_AGAIN:
            return
        self._states[secret] = (now, state)
        for subscriber in self._subscribers:
            subscriber(secret)
