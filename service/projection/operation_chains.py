"""An operation outlives the event that began it: its later facts join the chain of its start.

A wave, a hook or a retry goes on when the cluster reports something, and the facts from then on
carry the correlation of that report. Readers ask for everything that one push caused, so each fact
of an operation is stored with the correlation of its `operation.started`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.events import OperationFinished, OperationStarted, ResourcesApplied
from bus.events.event import wire_type
from service.projection.batch import Batch, BatchScope, FactRow
from service.store.rows import read_rows
from service.store.tables import facts

_STARTED = wire_type(OperationStarted)
_LATER = frozenset({wire_type(ResourcesApplied), wire_type(OperationFinished)})
_LONGEST = timedelta(days=1)
"""An operation that takes longer keeps the correlations that its facts came with."""

Chains = Mapping[tuple[str, str], str]
"""Subject and operation -> the correlation of its start."""


class StartRow(msgspec.Struct, frozen=True, kw_only=True):
    subject: str
    operation: str
    correlation: str


async def in_their_chains(connection: AsyncConnection, scope: BatchScope, batch: Batch) -> Batch:
    """Give the facts of an operation in `batch` the correlation of its start."""
    begun = {_operation(it): it.correlation for it in batch.facts if it.type == _STARTED}
    later = [it for it in batch.facts if it.type in _LATER and _operation(it) not in begun]
    chains = {**await _stored(connection, scope, later), **begun}
    return msgspec.structs.replace(batch, facts=tuple(_joined(it, chains) for it in batch.facts))


async def _stored(
    connection: AsyncConnection, scope: BatchScope, later: Sequence[FactRow]
) -> Chains:
    asked = [one for one in map(_operation, later) if one[1]]
    if not asked:
        return {}
    operation = facts.c.body["operation"].astext
    query = select(facts.c.subject, operation.label("operation"), facts.c.correlation).where(
        facts.c.agent_id == scope.agent_id,
        facts.c.subject.in_({subject for subject, _ in asked}),
        facts.c.time > min(it.time for it in later) - _LONGEST,
        facts.c.type == _STARTED,
        operation.in_({operation for _, operation in asked}),
    )
    rows = await read_rows(connection, query, StartRow)
    return {(row.subject, row.operation): row.correlation for row in rows}


def _joined(fact: FactRow, chains: Chains) -> FactRow:
    known = chains.get(_operation(fact), "") if fact.type in _LATER else ""
    return msgspec.structs.replace(fact, correlation=known) if known else fact


def _operation(fact: FactRow) -> tuple[str, str]:
    return fact.subject, str(fact.body.get("operation") or "")
