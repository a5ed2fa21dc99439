"""The guard against many deletions: tombstones that arrive together, and what is held of them.

A tombstone says that an object is gone, and mostly it is. When more than a fifth of a kind, and
more than ten objects, vanish within minutes, the agent may have lost sight of its cluster: then its
tombstones are held. The objects stay, shown as suspect, until two complete comparisons miss them,
or a person accepts it: see gateway/reconcile_state.py, which uses the same bounds.

`hold_many` decides and is pure; `hold_removals` remembers in the epoch's row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import msgspec
import structlog
from sqlalchemy import cast, select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link.kinds import APPLICATION
from service.projection.batch import Batch, BatchScope, ReportedState
from service.store.changes import FeedChange
from service.store.tables import agents, applications, epochs, objects

log = structlog.get_logger()

MANY = 10
PART = 0.2
WITHIN = timedelta(minutes=5)


class ShrinkingKind(msgspec.Struct, frozen=True, kw_only=True):
    """The most objects that a kind had since a time."""

    since: datetime
    known: int


class GuardedBatch(msgspec.Struct, frozen=True, kw_only=True):
    """A batch without its held tombstones, and what the guard remembers of it."""

    batch: Batch
    shrinking: Mapping[str, ShrinkingKind]
    held: Mapping[str, frozenset[str]]
    """Kind -> subjects whose tombstones were held."""


def hold_many(
    batch: Batch,
    known: Mapping[str, Collection[str]],
    shrinking: Mapping[str, ShrinkingKind],
    now: datetime,
) -> GuardedBatch:
    """Hold the tombstones of each kind of which too many came together.

    `known`: of each kind with tombstones in `batch`, the subjects that are there now.
    """
    windows, held = dict(shrinking), dict[str, frozenset[str]]()
    for kind, subjects in known.items():
        window = _window(shrinking.get(kind), len(subjects), now)
        gone = _gone(batch, kind) & set(subjects)
        left = len(subjects) - len(gone)
        windows[kind] = window
        if is_many(window.known - left, window.known):
            held[kind] = frozenset(gone)
    states = tuple(it for it in batch.states if not _is_held(it, held))
    return GuardedBatch(
        batch=msgspec.structs.replace(batch, states=states), shrinking=windows, held=held
    )


def is_many(missing: int, known: int) -> bool:
    return missing > MANY and missing > PART * known


def removed_kinds(batch: Batch) -> frozenset[str]:
    return frozenset(it.kind for it in batch.states if it.body is None)


def _window(before: ShrinkingKind | None, known: int, now: datetime) -> ShrinkingKind:
    if before is None or now - before.since > WITHIN:
        return ShrinkingKind(since=now, known=known)
    return msgspec.structs.replace(before, known=max(before.known, known))


def _gone(batch: Batch, kind: str) -> set[str]:
    """Find the subjects of a kind whose last state in the batch is a tombstone."""
    last = {it.subject: it.body is None for it in batch.states if it.kind == kind}
    return {subject for subject, is_gone in last.items() if is_gone}


def _is_held(state: ReportedState, held: Mapping[str, frozenset[str]]) -> bool:
    return state.body is None and state.subject in held.get(state.kind, frozenset())


class Doubted(msgspec.Struct, frozen=True, kw_only=True):
    """Objects of a kind that seem to be gone, and are too many to be believed at once."""

    kind: str
    subjects: frozenset[str]


class RemovalHolds(msgspec.Struct, frozen=True, kw_only=True):
    """A batch without its held tombstones, their feed entries, and the subjects by kind."""

    batch: Batch
    changes: tuple[FeedChange, ...] = ()
    subjects: Mapping[str, frozenset[str]] = {}


NOTHING_HELD = RemovalHolds(batch=Batch())


async def hold_removals(
    connection: AsyncConnection, scope: BatchScope, batch: Batch, now: datetime
) -> RemovalHolds:
    """Take tombstones that are too many out of a batch; the caller has locked the epoch's row."""
    kinds = removed_kinds(batch)
    if not kinds:
        return RemovalHolds(batch=batch)
    mine = (epochs.c.agent_id == scope.agent_id) & (epochs.c.epoch == scope.epoch)
    stored = (await connection.execute(select(epochs.c.removals).where(mine))).scalar_one()
    before = msgspec.convert(stored, dict[str, ShrinkingKind])
    found = hold_many(batch, await _known(connection, scope, kinds), before, now)
    values = {"removals": msgspec.to_builtins(found.shrinking)}
    await connection.execute(update(epochs).where(mine).values(values))
    for kind, subjects in found.held.items():
        log.warning("deletions held", agent=scope.agent, kind=kind, count=len(subjects))
        before_these = await _held_before(connection, scope, kind)
        count = before_these + len(subjects)
        await mark_doubted(connection, scope, Doubted(kind=kind, subjects=subjects), count, now)
    counts = {kind: len(subjects) for kind, subjects in found.held.items()}
    changes = (_change_of(scope, counts),) if counts else ()
    return RemovalHolds(batch=found.batch, changes=changes, subjects=found.held)


async def _held_before(connection: AsyncConnection, scope: BatchScope, kind: str) -> int:
    """Count the tombstones that are held already: they come in many batches."""
    known = select(agents.c.doubted).where(agents.c.id == scope.agent_id)
    doubted = (await connection.execute(known)).scalar_one()
    return int(doubted.get(kind, {}).get("count", 0))


def _change_of(scope: BatchScope, held: Mapping[str, int]) -> FeedChange:
    body = {"suspect": sum(held.values())}
    return FeedChange(type="agent.changed", subject=scope.agent, agent_id=scope.agent_id, body=body)


async def mark_doubted(
    connection: AsyncConnection, scope: BatchScope, doubted: Doubted, count: int, now: datetime
) -> None:
    """Show these as suspect, and `count` objects of the kind as held by the guard."""
    if doubted.kind == APPLICATION.name:
        named = (applications.c.namespace + "/" + applications.c.name).in_(doubted.subjects)
        mine = applications.c.agent_id == scope.agent_id
        await connection.execute(update(applications).where(mine, named).values(suspect=True))
    held = cast({doubted.kind: {"count": count, "since": now.isoformat()}}, JSONB)
    this = update(agents).where(agents.c.id == scope.agent_id)
    await connection.execute(this.values(doubted=agents.c.doubted.op("||")(held)))


async def _known(
    connection: AsyncConnection, scope: BatchScope, kinds: frozenset[str]
) -> Mapping[str, set[str]]:
    query = select(objects.c.kind, objects.c.subject).where(
        objects.c.agent_id == scope.agent_id,
        objects.c.epoch == scope.epoch,
        objects.c.kind.in_(kinds),
    )
    found: dict[str, set[str]] = {kind: set() for kind in kinds}
    for row in await connection.execute(query):
        found[row.kind].add(row.subject)
    return found
