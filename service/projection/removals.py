"""The guard against many deletions, for tombstones as they come. Pure.

A tombstone says that an object is gone, and mostly it is. When more than a fifth of a kind, and
more than ten objects, vanish within minutes, that may as well be an agent that lost its sight: then
its tombstones are held. The objects stay until two complete looks miss them, or a person accepts
it: see gateway/looking.py, whose bounds these are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import msgspec

from service.projection.values import Batch, State

MANY = 10
PART = 0.2
WITHIN = timedelta(minutes=5)


class Shrinking(msgspec.Struct, frozen=True, kw_only=True):
    """Of a kind: how many objects there were at most since then."""

    since: datetime
    known: int


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a batch."""

    batch: Batch
    shrinking: Mapping[str, Shrinking]
    held: Mapping[str, frozenset[str]]
    """Kind -> subjects whose tombstones were held."""


def hold_many(
    batch: Batch,
    known: Mapping[str, Collection[str]],
    shrinking: Mapping[str, Shrinking],
    now: datetime,
) -> Held:
    """`known`: of each kind with tombstones in `batch`, the subjects that are there now."""
    windows, held = dict(shrinking), dict[str, frozenset[str]]()
    for kind, subjects in known.items():
        window = _window(shrinking.get(kind), len(subjects), now)
        gone = _gone(batch, kind) & set(subjects)
        left = len(subjects) - len(gone)
        windows[kind] = window
        if is_many(window.known - left, window.known):
            held[kind] = frozenset(gone)
    states = tuple(it for it in batch.states if not _is_held(it, held))
    return Held(batch=msgspec.structs.replace(batch, states=states), shrinking=windows, held=held)


def is_many(missing: int, known: int) -> bool:
    return missing > MANY and missing > PART * known


def removed_kinds(batch: Batch) -> frozenset[str]:
    return frozenset(it.kind for it in batch.states if it.body is None)


def _window(before: Shrinking | None, known: int, now: datetime) -> Shrinking:
    if before is None or now - before.since > WITHIN:
        return Shrinking(since=now, known=known)
    return msgspec.structs.replace(before, known=max(before.known, known))


def _gone(batch: Batch, kind: str) -> set[str]:
    """Those whose last word in the batch is a tombstone."""
    last = {it.subject: it.body is None for it in batch.states if it.kind == kind}
    return {subject for subject, is_gone in last.items() if is_gone}


def _is_held(state: State, held: Mapping[str, frozenset[str]]) -> bool:
    return state.body is None and state.subject in held.get(state.kind, frozenset())
