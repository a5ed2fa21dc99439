"""Agents' keys that are in use and not bound: somebody else wrote them, or an earlier version did.

They open no link. Which of the two it is, the database cannot tell, because who can write it can
also undo what a first start left there. So a person decides, or a key file that was made at this
very start: no database was ever used with it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import RowMapping, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.ids import new_id
from service.audit import book
from service.audit.record import Entry, Source
from service.keys.bound_rows import bind_again, is_bound
from service.keys.key_ring import KeyRing
from service.store.tables import agent_keys, agents


async def unbound_keys(connection: AsyncConnection, ring: KeyRing) -> Sequence[RowMapping]:
    """The rows with `agent` and `account_id` beside them, by agent; locked."""
    query = (
        select(agent_keys, agents.c.name.label("agent"), agents.c.account_id)
        .join(agents, agents.c.id == agent_keys.c.agent_id)
        .where(agent_keys.c.retired_at.is_(None), agents.c.state == "enrolled")
        .order_by(agents.c.name, agent_keys.c.id)
        .with_for_update(of=agent_keys)
    )
    found = (await connection.execute(query)).mappings().all()
    return [row for row in found if not is_bound(ring, agent_keys, row)]


async def bind_keys(
    connection: AsyncConnection,
    ring: KeyRing,
    now: datetime,
    reason: str,
    names: Collection[str] | None = None,
) -> list[str]:
    """Vouch for the unbound keys of the agents `names`, or of all; the names of these agents."""
    done: list[str] = []
    for row in await unbound_keys(connection, ring):
        if names is None or row["agent"] in names:
            await bind_again(connection, ring, agent_keys, row)
            await book.record(connection, _entry(row, now, reason))
            done.append(row["agent"])
    return list(dict.fromkeys(done))


def _entry(row: RowMapping, now: datetime, reason: str) -> Entry:
    return Entry(
        account=row["account_id"],
        id=new_id(),
        time=now,
        actor="service",
        action="agent-key.bound",
        resource=f"agent/{row['agent']}",
        outcome="done",
        source=Source.SERVICE,
        detail={"key": row["id"], "reason": reason},
    )
