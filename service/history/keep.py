"""Keeps the drift ledger, in the transaction that stores the facts: follower of the projection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain

import msgspec
import structlog
from msgspec.structs import replace
from sqlalchemy.ext.asyncio import AsyncConnection

from service.history import past
from service.history.ledger import TYPES, Drift, fold
from service.history.said import Said, in_order
from service.projection.values import Batch, FactRow, Scope

log = structlog.get_logger()

_LATE = timedelta(days=1)
"""What is later than this has its place in the timeline, not in the ledger."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    began: tuple[Drift, ...] = ()
    ended: tuple[Drift, ...] = ()


async def keep(connection: AsyncConnection, scope: Scope, batch: Batch) -> Kept:
    """The facts of the batch stand in their table already."""
    arrived = _by_subject(scope, batch)
    if not arrived:
        return Kept()
    ids = {it.id for it in chain.from_iterable(arrived.values())}
    newest = await past.newest_of(connection, scope.agent_id, arrived, ids)
    late = {it for it, ones in arrived.items() if it in newest and newest[it] >= ones[0].time}
    kept = await _go_on(connection, scope, {k: v for k, v in arrived.items() if k not in late})
    for subject in sorted(late):
        more = await _again(connection, scope, arrived[subject], newest[subject])
        kept = Kept(began=kept.began + more.began, ended=kept.ended + more.ended)
    return kept


async def _go_on(
    connection: AsyncConnection, scope: Scope, arrived: Mapping[str, Sequence[Said]]
) -> Kept:
    """The common case: all are newer than what is known."""
    if not arrived:
        return Kept()
    agent = scope.agent_id
    moments = {subject: ones[0].time for subject, ones in arrived.items()}
    before = await past.open_drifts(connection, agent, moments)
    bases = await past.standings(connection, agent, moments)
    after: list[Drift] = []
    for subject, ones in arrived.items():
        lasting = (it for it in before if it.subject == subject and it.ended_at is None)
        open_ = {it.object: it for it in lasting if it.began_at < moments[subject]}
        after += fold(replace(bases[subject], open=open_), ones).all
    return await _store(connection, agent, before, after)


async def _again(
    connection: AsyncConnection, scope: Scope, ones: Sequence[Said], newest: datetime
) -> Kept:
    """Something came late: from the last quiet moment before it, everything once more."""
    agent, subject = scope.agent_id, ones[0].subject
    if ones[0].time < newest - _LATE:
        log.info("facts too late for the ledger", agent=scope.agent, app=subject)
        ones = [it for it in ones if it.time >= newest - _LATE]
        if not ones:
            return Kept()
    moment = await past.quiet_before(connection, agent, subject, ones[0].time)
    bases = await past.standings(connection, agent, {subject: moment})
    before = await past.drifts_since(connection, agent, subject, moment)
    facts = await past.facts_since(connection, agent, subject, moment)
    after = fold(bases[subject], facts).all
    real = {it.id for it in after}
    gone = [it for it in before if it.id not in real]
    return await _store(connection, agent, before, after, gone)


async def _store(
    connection: AsyncConnection,
    agent: str,
    before: Sequence[Drift],
    after: Sequence[Drift],
    gone: Sequence[Drift] = (),
) -> Kept:
    known = {it.id: it for it in before}
    changed = [it for it in after if known.get(it.id) != it]
    await past.store(connection, agent, changed, gone)
    return Kept(
        began=tuple(it for it in changed if it.id not in known),
        ended=tuple(it for it in changed if _has_ended(it, known.get(it.id))),
    )


def _has_ended(drift: Drift, before: Drift | None) -> bool:
    return drift.ended_at is not None and (before is None or before.ended_at != drift.ended_at)


def _by_subject(scope: Scope, batch: Batch) -> dict[str, list[Said]]:
    found: defaultdict[str, list[Said]] = defaultdict(list)
    for one in in_order(scope.agent_id, _counting(batch)):
        found[one.subject].append(one)
    return dict(found)


def _counting(batch: Batch) -> Iterable[FactRow]:
    return (row for row in batch.facts if row.type in TYPES)
