"""ResourceState: what was found of one object, and for which values of both its sides it holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from bus.identity import ResourceKey
from bus.status import SyncStatus
from handlers.application.known_types import KnownTypeRules
from handlers.comparison.ignored_fields import ObjectSides
from handlers.comparison.object_difference import DiffVerdict, FieldDifference


class ResourceState(msgspec.Struct, frozen=True, kw_only=True):
    """One object of an application; `status` is None for hooks, which are not compared."""

    key: ResourceKey
    version: str
    wave: int = 0
    hook: bool = False
    live: bool = True
    status: SyncStatus | None = None
    requires_pruning: bool = False
    counts: bool = True
    """Whether its status worsens that of the application (`IgnoreExtraneous` says no)."""
    verdict: DiffVerdict = DiffVerdict.SAME
    differences: tuple[FieldDifference, ...] = ()
    doubts: tuple[str, ...] = ()
    left_over: bool = False
    """Holds fields of earlier tools that Git does not have, which no dry run shows."""
    hides_difference: bool = False
    """Differs in ignored fields only."""
    shared_with: str = ""
    """The identity of another application that the live object says it belongs to."""


class KnownState(NamedTuple):
    """What was found of a pair; it holds for these very values."""

    sides: ObjectSides
    state: ResourceState

    def is_of(self, sides: ObjectSides) -> bool:
        ours, theirs = self.sides, sides
        return (
            ours.desired is theirs.desired
            and ours.live is theirs.live
            and ours.ignored == theirs.ignored
        )


class PairOptions(NamedTuple):
    """How pairs are compared."""

    takes_over: bool = True
    """Whether a sync takes over the fields of earlier tools, so that leftovers of theirs differ."""
    known_types: KnownTypeRules = ()
    """The fields of custom resources whose types the settings name."""


@dataclass(slots=True)
class KnownStates:
    """What the last comparison of an application found of its pairs."""

    context: tuple[str, PairOptions] = ("", PairOptions())
    """The identity and the options; with others nothing of it holds."""
    pairs: dict[ResourceKey, KnownState] = field(default_factory=dict)
