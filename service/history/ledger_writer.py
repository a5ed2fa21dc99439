"""The writer of the drift ledger, in the transaction that stores the facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain

import msgspec
import structlog
from msgspec.structs import replace
from sqlalchemy.ext.asyncio import AsyncConnection

from service.history import ledger_input
from service.history.ledger import TYPES, LedgerDrift, fold
from service.history.recorded_facts import RecordedFact, in_order
from service.projection.batch import Batch, BatchScope, FactRow

log = structlog.get_logger()

_LATE = timedelta(days=1)
"""What is later than this has its place in the timeline, not in the ledger."""


class LedgerChange(msgspec.Struct, frozen=True, kw_only=True):
    began: tuple[LedgerDrift, ...] = ()
    ended: tuple[LedgerDrift, ...] = ()


async def write_ledger(
    connection: AsyncConnection, scope: BatchScope, batch: Batch
) -> LedgerChange:
    """Write the drifts of a batch, whose facts stand in their table already."""
    arrived = _by_subject(scope, batch)
    if not arrived:
        return LedgerChange()
    ids = {it.id for it in chain.from_iterable(arrived.values())}
    newest = await ledger_input.newest_of(connection, scope.agent_id, arrived, ids)
    late = {it for it, drifts in arrived.items() if it in newest and newest[it] >= drifts[0].time}
    kept = await _go_on(connection, scope, {k: v for k, v in arrived.items() if k not in late})
    for subject in sorted(late):
        more = await _again(connection, scope, arrived[subject], newest[subject])
        kept = LedgerChange(began=kept.began + more.began, ended=kept.ended + more.ended)
    return kept


async def _go_on(
    connection: AsyncConnection, scope: BatchScope, arrived: Mapping[str, Sequence[RecordedFact]]
) -> LedgerChange:
    """The common case: all are newer than what is known."""
    if not arrived:
        return LedgerChange()
    agent = scope.agent_id
    times = {subject: drifts[0].time for subject, drifts in arrived.items()}
    before = await ledger_input.open_drifts(connection, agent, times)
    bases = await ledger_input.ledger_states(connection, agent, times)
    after: list[LedgerDrift] = []
    for subject, drifts in arrived.items():
        lasting = (it for it in before if it.subject == subject and it.ended_at is None)
        open_ = {it.object: it for it in lasting if it.began_at < times[subject]}
        after += fold(replace(bases[subject], open=open_), drifts).all
    return await _store(connection, agent, before, after)


async def _again(
    connection: AsyncConnection, scope: BatchScope, drifts: Sequence[RecordedFact], newest: datetime
) -> LedgerChange:
    """Something came late: from the last quiet moment before it, everything once more."""
    agent, subject = scope.agent_id, drifts[0].subject
    if drifts[0].time < newest - _LATE:
        log.info("facts too late for the ledger", agent=scope.agent, app=subject)
        drifts = [it for it in drifts if it.time >= newest - _LATE]
        if not drifts:
            return LedgerChange()
    quiet_since = await ledger_input.quiet_before(connection, agent, subject, drifts[0].time)
    bases = await ledger_input.ledger_states(connection, agent, {subject: quiet_since})
    before = await ledger_input.drifts_since(connection, agent, subject, quiet_since)
    facts = await ledger_input.facts_since(connection, agent, subject, quiet_since)
    after = fold(bases[subject], facts).all
    real = {it.id for it in after}
    gone = [it for it in before if it.id not in real]
    return await _store(connection, agent, before, after, gone)


async def _store(
    connection: AsyncConnection,
    agent: str,
    before: Sequence[LedgerDrift],
    after: Sequence[LedgerDrift],
    gone: Sequence[LedgerDrift] = (),
) -> LedgerChange:
    known = {it.id: it for it in before}
    changed = [it for it in after if known.get(it.id) != it]
    await ledger_input.store(connection, agent, changed, gone)
    return LedgerChange(
        began=tuple(it for it in changed if it.id not in known),
        ended=tuple(it for it in changed if _has_ended(it, known.get(it.id))),
    )


def _has_ended(drift: LedgerDrift, before: LedgerDrift | None) -> bool:
    return drift.ended_at is not None and (before is None or before.ended_at != drift.ended_at)


def _by_subject(scope: BatchScope, batch: Batch) -> dict[str, list[RecordedFact]]:
    found: defaultdict[str, list[RecordedFact]] = defaultdict(list)
    for one in in_order(scope.agent_id, _counting(batch)):
        found[one.subject].append(one)
    return dict(found)


def _counting(batch: Batch) -> Iterable[FactRow]:
    return (row for row in batch.facts if row.type in TYPES)
