"""A stage: something is done to the world, and something must then be seen. Pure values.

`Report` is the file that `gitops demo --json` writes: its shape is a promise to scripts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from playground.demo.house import House

Run = Callable[["House"], Awaitable[str]]
"""Does the deed and returns what was seen; raises NotHeldError with what was seen instead."""


class NotHeldError(Exception):
    """What was expected did not come true in time; the text is what was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    name: str
    expected: str
    run: Run


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    expected: str
    seen: str
    held: bool
    ms: int
    """From the deed to the sight, in milliseconds."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    stages: tuple[Outcome, ...]

    @property
    def held(self) -> bool:
        return all(stage.held for stage in self.stages)
