"""Overruns remembers the recipes that needed more than the first deadline, and their results.

An evaluation depends on its recipe and on the files that it read, so one that failed fails again
while both are the same: it is refused at once, from memory. One that is not decided yet goes to the
slow queue straight away while both are the same, and one that ended well there with any files. All
are forgotten after a while, and when more recipes overran than can be remembered; nothing depends
on them but time. A cache of this process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from enum import StrEnum

import msgspec

from sandbox.client.errors import SandboxError, SandboxReason
from sandbox.client.evaluation import EvaluationFiles, RecipeKey

OF_RESOURCES = (SandboxReason.DEADLINE_EXCEEDED, SandboxReason.MEMORY_EXCEEDED)
"""Failures that cost as much the second time; any other one is cheap to find again."""


class OverrunOutcome(StrEnum):
    OPEN = "Open"
    """It needed more than the first deadline, and has not ended in the slow queue yet."""
    ENDED_WELL = "EndedWell"
    FAILED = "Failed"


class Overrun(msgspec.Struct, frozen=True, kw_only=True):
    outcome: OverrunOutcome
    until: float
    read_set: Mapping[str, str]
    error: SandboxError | None = None


class Overruns:
    def __init__(self, *, most: int, seconds: float, clock: Callable[[], float]) -> None:
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._known: OrderedDict[RecipeKey, Overrun] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def failure(self, key: RecipeKey, files: EvaluationFiles) -> SandboxError | None:
        """Why the recipe fails on these files, where that is known."""
        known = self._get(key)
        return known.error if known is not None and files.holds(known.read_set) else None

    def is_slow(self, key: RecipeKey, files: EvaluationFiles) -> bool:
        """Whether the recipe is known to need more than the first deadline, and not to fail."""
        known = self._get(key)
        if known is None or known.outcome is OverrunOutcome.FAILED:
            return False
        return known.outcome is OverrunOutcome.ENDED_WELL or files.holds(known.read_set)

    def without_end(self, project: str) -> int:
        """How many recipes of the project overran and did not end well."""
        bad = (OverrunOutcome.OPEN, OverrunOutcome.FAILED)
        return sum(
            key.project == project and overrun.outcome in bad
            for key, overrun in self._known.items()
        )

    def note(
        self,
        key: RecipeKey,
        outcome: OverrunOutcome,
        read_set: Mapping[str, str],
        error: SandboxError | None = None,
    ) -> None:
        self._known[key] = Overrun(
            outcome=outcome,
            until=self._clock() + self._seconds,
            read_set=dict(read_set),
            error=error,
        )
        self._known.move_to_end(key)
        if len(self._known) > self._most:
            self._known.popitem(last=False)

    def forget(self, key: RecipeKey) -> None:
        self._known.pop(key, None)

    def _get(self, key: RecipeKey) -> Overrun | None:
        known = self._known.get(key)
        if known is not None and known.until <= self._clock():
            del self._known[key]
            return None
        return known
