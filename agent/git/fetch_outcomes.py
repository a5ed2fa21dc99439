"""FetchOutcomes keeps the result of the last fetch with each Secret, for connection reports.

A Secret of a prefix serves several repositories: it works while all of those do that were fetched
with it lately; a failure is told until its repository is fetched again or nobody asks for it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from agent.git.credentials import GitCredential
from agent.subscribers import Subscribers
from handlers.ports import Clock
from handlers.report.connection_items import FAILED, SUCCESSFUL, ConnectionState

_KEPT = timedelta(hours=1)
_REPEATED_AFTER = timedelta(minutes=5)
"""The time of an unchanged state is news only so often."""


class FetchOutcome(NamedTuple):
    at: datetime
    failure: str
    """Why it failed; empty where it did not."""


class FetchOutcomes:
    def __init__(self, clock: Clock) -> None:
        self.changes = Subscribers[[str]]()
        """Called with `namespace/name` of a Secret."""
        self._clock = clock
        self._fetched: dict[str, dict[str, FetchOutcome]] = {}
        self._states: dict[str, tuple[datetime, ConnectionState]] = {}

    def of(self, secret: str) -> ConnectionState | None:
        """None where nothing was fetched with it in this life of the agent."""
        found = self._states.get(secret)
        return found[1] if found else None

    def record(self, url: str, credential: GitCredential | None, failure: str = "") -> None:
        for secret in credential.secrets if credential else ():
            self._record(secret, url, FetchOutcome(self._clock.now(), failure))

    def _record(self, secret: str, url: str, fetched: FetchOutcome) -> None:
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
        if before and before[1].same_outcome_as(state) and now - before[0] < _REPEATED_AFTER:
            return
        self._states[secret] = (now, state)
        self.changes.notify(secret)
