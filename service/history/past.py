"""What the ledger has to know of an application's past before it can go on: read in bulk.

A new fact is nearly always the newest of its application: then the open drifts and two older facts
say all. One that is late is put in its place: the ledger is folded again from a moment at which no
drift was open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, and_, bindparam, delete, func, insert, or_, select, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import DateTime, Text

from service.history.ledger import TYPES, Drift, Standing, fold
from service.history.said import Said, in_order
from service.projection.values import FactRow
from service.store.tables import drifts, facts

_LOOK_BACK = timedelta(days=30)
_STEPS = 20

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
    """Of the facts that count, those with `ids` left out."""
    given = {"agent": agent, "subjects": list(subjects), "types": TYPES, "ids": list(ids)}
    rows = await connection.execute(_NEWEST, given)
    return {row.subject: row.time for row in rows}


async def standings(
    connection: AsyncConnection, agent: str, moments: Mapping[str, datetime]
) -> dict[str, Standing]:
    """Before the moment of each subject, without open drifts."""
    given = {
        "agent": agent,
        "subjects": list(moments),
        "moments": list(moments.values()),
        "types": TYPES,
        "back": _LOOK_BACK,
    }
    rows = [_row(it) for it in await connection.execute(_BASES, given)]
    grouped: dict[str, list[Said]] = {subject: [] for subject in moments}
    for one in in_order(agent, rows):
        grouped[one.subject].append(one)
    return {subject: fold(Standing(), ones).standing for subject, ones in grouped.items()}


async def open_drifts(
    connection: AsyncConnection, agent: str, moments: Mapping[str, datetime]
) -> Sequence[Drift]:
    """Of these subjects; and those that began since, where facts are told a second time."""
    mine = and_(drifts.c.agent_id == agent, drifts.c.subject.in_(list(moments)))
    recent = or_(drifts.c.ended_at.is_(None), drifts.c.began_at >= min(moments.values()))
    return await _drifts(connection, mine, recent)


async def drifts_since(
    connection: AsyncConnection, agent: str, subject: str, moment: datetime
) -> Sequence[Drift]:
    mine = and_(drifts.c.agent_id == agent, drifts.c.subject == subject)
    return await _drifts(connection, mine, drifts.c.began_at >= moment)


async def quiet_before(
    connection: AsyncConnection, agent: str, subject: str, moment: datetime
) -> datetime:
    """The latest moment up to this one at which no drift was open."""
    for _ in range(_STEPS):
        query = select(func.min(drifts.c.began_at)).where(
            drifts.c.agent_id == agent,
            drifts.c.subject == subject,
            drifts.c.began_at < moment,
            or_(drifts.c.ended_at.is_(None), drifts.c.ended_at >= moment),
        )
        began = await connection.scalar(query)
        if began is None:
            break
        moment = began
    return moment


async def facts_since(
    connection: AsyncConnection, agent: str, subject: str, moment: datetime
) -> Sequence[Said]:
    """Those that count, in order."""
    query = select(facts).where(
        facts.c.agent_id == agent,
        facts.c.subject == subject,
        facts.c.time >= moment,
        facts.c.type.in_(TYPES),
    )
    return in_order(agent, [_row(it) for it in await connection.execute(query)])


async def store(
    connection: AsyncConnection, agent: str, changed: Sequence[Drift], gone: Sequence[Drift] = ()
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


async def _drifts(connection: AsyncConnection, *conditions: Any) -> Sequence[Drift]:
    query = select(drifts).where(*conditions).order_by(drifts.c.began_at, drifts.c.id)
    rows = (await connection.execute(query)).mappings()
    wanted = Drift.__struct_fields__
    return [
        Drift(**{**{name: row[name] for name in wanted}, "fields": tuple(row["fields"])})
        for row in rows
    ]


def _row(row: Row[Any]) -> FactRow:
    return FactRow(**{name: getattr(row, name) for name in FactRow.__struct_fields__})
