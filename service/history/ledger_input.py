"""Reads and writes of the drift ledger's rows, for many applications at once.

A new fact is nearly always the newest of its application: then the open drifts and two older facts
are enough to go on. A late fact is put in its place: the ledger is folded again from a time at
which no drift was open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import and_, bindparam, delete, func, insert, or_, select, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import DateTime, Text

from service.history.ledger import TYPES, LedgerDrift, LedgerState, fold
from service.history.recorded_facts import RecordedFact, in_order
from service.projection.batch import FactRow
from service.store.rows import read_rows
from service.store.tables import drifts, facts

_LOOK_BACK = timedelta(days=30)
_STEPS = 20

# The state of each ledger before its moment needs two facts and no more:
#   1. the last fact that tells what was deployed: a comparison that found no difference, an
#      automated sync that succeeded, or the deletion of the application;
#   2. the last sync by hand that succeeded, which decides how an open drift ends.
# LATERAL with LIMIT 1 reads one row per application along ix_facts_subject_time; a GROUP BY would
# read every fact of the month. The lower bound on time leaves out older partitions.
_BASES = text(
    """
    SELECT found.* FROM unnest(:subjects, :moments) AS w(subject, moment)
    CROSS JOIN LATERAL (
        SELECT event_id, type, subject, project, correlation, time, agent_time, body
        FROM facts
        WHERE agent_id = :agent AND subject = w.subject
          AND time < w.moment AND time > w.moment - CAST(:back AS interval)
          AND type = ANY(:types)
          AND (body->>'status' = 'Synced' OR type = 'fact.app.deleted.v1'
               OR (body->>'phase' = 'Succeeded' AND body->>'automated' = 'true'))
        ORDER BY time DESC, event_id DESC LIMIT 1
    ) AS found
    UNION ALL
    SELECT found.* FROM unnest(:subjects, :moments) AS w(subject, moment)
    CROSS JOIN LATERAL (
        SELECT event_id, type, subject, project, correlation, time, agent_time, body
        FROM facts
        WHERE agent_id = :agent AND subject = w.subject
          AND time < w.moment AND time > w.moment - CAST(:back AS interval)
          AND type = ANY(:types)
          AND body->>'phase' = 'Succeeded' AND body->>'automated' IS DISTINCT FROM 'true'
        ORDER BY time DESC, event_id DESC LIMIT 1
    ) AS found
    """
).bindparams(
    bindparam("subjects", type_=ARRAY(Text)),
    bindparam("moments", type_=ARRAY(DateTime(timezone=True))),
    bindparam("types", type_=ARRAY(Text)),
)
# The newest fact of each application, without those of this batch, which are stored already. It
# tells whether the batch goes on from the end of the ledger or has to be put in its place.
_NEWEST = text(
    """
    SELECT w.subject, found.time FROM unnest(:subjects) AS w(subject)
    CROSS JOIN LATERAL (
        SELECT time FROM facts
        WHERE agent_id = :agent AND subject = w.subject
          AND type = ANY(:types) AND event_id <> ALL(:ids)
        ORDER BY time DESC LIMIT 1
    ) AS found
    """
).bindparams(
    bindparam("subjects", type_=ARRAY(Text)),
    bindparam("types", type_=ARRAY(Text)),
    bindparam("ids", type_=ARRAY(Text)),
)


async def newest_of(
    connection: AsyncConnection, agent: str, subjects: Iterable[str], ids: Iterable[str]
) -> Mapping[str, datetime]:
    """Read the time of the newest fact that counts of each subject, without those with `ids`."""
    parameters = {"agent": agent, "subjects": list(subjects), "types": TYPES, "ids": list(ids)}
    rows = await connection.execute(_NEWEST, parameters)
    return {row.subject: row.time for row in rows}


async def ledger_states(
    connection: AsyncConnection, agent: str, times: Mapping[str, datetime]
) -> dict[str, LedgerState]:
    """Before the moment of each subject, without open drifts."""
    parameters = {
        "agent": agent,
        "subjects": list(times),
        "moments": list(times.values()),
        "types": TYPES,
        "back": _LOOK_BACK,
    }
    rows = await read_rows(connection, _BASES.bindparams(**parameters), FactRow)
    grouped: dict[str, list[RecordedFact]] = {subject: [] for subject in times}
    for one in in_order(agent, rows):
        grouped[one.subject].append(one)
    return {subject: fold(LedgerState(), ones).state for subject, ones in grouped.items()}


async def open_drifts(
    connection: AsyncConnection, agent: str, times: Mapping[str, datetime]
) -> Sequence[LedgerDrift]:
    """Read the open drifts of the subjects, and those that began since for repeated facts."""
    mine = and_(drifts.c.agent_id == agent, drifts.c.subject.in_(list(times)))
    recent = or_(drifts.c.ended_at.is_(None), drifts.c.began_at >= min(times.values()))
    return await _drifts(connection, mine, recent)


async def drifts_since(
    connection: AsyncConnection, agent: str, subject: str, time: datetime
) -> Sequence[LedgerDrift]:
    mine = and_(drifts.c.agent_id == agent, drifts.c.subject == subject)
    return await _drifts(connection, mine, drifts.c.began_at >= time)


async def quiet_before(
    connection: AsyncConnection, agent: str, subject: str, time: datetime
) -> datetime:
    """Find the latest moment up to this one at which no drift was open."""
    # Each step goes back to the begin of a drift that was open; drifts may overlap in a chain.
    for _ in range(_STEPS):
        query = select(func.min(drifts.c.began_at)).where(
            drifts.c.agent_id == agent,
            drifts.c.subject == subject,
            drifts.c.began_at < time,
            or_(drifts.c.ended_at.is_(None), drifts.c.ended_at >= time),
        )
        began = await connection.scalar(query)
        if began is None:
            break
        time = began
    return time


async def facts_since(
    connection: AsyncConnection, agent: str, subject: str, time: datetime
) -> Sequence[RecordedFact]:
    """Read the facts of a subject that count, in order."""
    query = select(facts).where(
        facts.c.agent_id == agent,
        facts.c.subject == subject,
        facts.c.time >= time,
        facts.c.type.in_(TYPES),
    )
    return in_order(agent, await read_rows(connection, query, FactRow))


async def store(
    connection: AsyncConnection,
    agent: str,
    changed: Sequence[LedgerDrift],
    gone: Sequence[LedgerDrift] = (),
) -> None:
    """A drift has one row, whatever month it is in: no constraint can say so across partitions."""
    ids = [it.id for it in (*gone, *changed)]
    if ids:
        mine = and_(drifts.c.agent_id == agent, drifts.c.id.in_(ids))
        await connection.execute(delete(drifts).where(mine))
    rows = [
        {name: getattr(it, name) for name in it.__struct_fields__} | {"agent_id": agent}
        for it in sorted(changed, key=lambda it: it.id)
    ]
    if rows:
        await connection.execute(insert(drifts), rows)


async def _drifts(connection: AsyncConnection, *conditions: Any) -> Sequence[LedgerDrift]:
    query = select(drifts).where(*conditions).order_by(drifts.c.began_at, drifts.c.id)
    rows = await read_rows(connection, query, LedgerDrift)
    return [msgspec.structs.replace(row, fields=tuple(row.fields)) for row in rows]
