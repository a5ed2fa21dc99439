"""Conditions: what a person should know about an Application, beside its states.

Every finder owns some types: it gives all that it found of them now, and what it does not give any
more is gone. A condition whose message stays the same keeps its time, so that nothing is written
for it and `lastTransitionTime` says since when.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from bus.status import ConditionType
from handlers.application.status import Condition

Conditions = tuple[Condition, ...]

BLOCKING = frozenset({ConditionType.COMPARISON_ERROR, ConditionType.INVALID_SPEC_ERROR})
"""While one of these stands, the desired state is not known: nothing is synced by itself."""


def revised(
    before: Sequence[Condition],
    owned: Collection[ConditionType],
    found: Iterable[Condition],
    now: str,
) -> Conditions:
    """`before` with those of the `owned` types replaced by `found`; the others stay untouched."""
    since = {(one.type, one.message): one.last_transition_time for one in before}
    kept = [one for one in before if one.type not in owned]
    timed = [
        msgspec.structs.replace(one, last_transition_time=since.get((one.type, one.message)) or now)
        for one in found
    ]
    unique = {(one.type, one.message): one for one in (*kept, *timed)}
    return tuple(unique[key] for key in sorted(unique))


def without(before: Sequence[Condition], types: Collection[ConditionType]) -> Conditions:
    return revised(before, types, (), "")


def of_type(conditions: Iterable[Condition], type_: ConditionType) -> Conditions:
    return tuple(one for one in conditions if one.type == type_)


def blocking(conditions: Iterable[Condition]) -> Conditions:
    return tuple(one for one in conditions if one.type in BLOCKING)
