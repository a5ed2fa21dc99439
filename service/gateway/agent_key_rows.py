"""Rows of agents and their keys, as sessions read and rotate them."""

from __future__ import annotations

from datetime import datetime

import msgspec
from sqlalchemy import ColumnElement, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.identity import new_id
from service.gateway.proofs import is_key
from service.gateway.refusals import SESSION_REMEDY, LinkRequestRefusedError
from service.keys.key_file import KeyRing
from service.store.protected_columns import UNBOUND, BoundKeyRow, bound
from service.store.rows import find_row
from service.store.tables import accounts, agent_keys, agents


class LinkAgentRow(msgspec.Struct, frozen=True, kw_only=True):
    """An agent with the name of its account."""

    id: str
    name: str
    state: str
    account_id: str
    account: str


class LinkKeyRow(BoundKeyRow, frozen=True, kw_only=True):
    """A key with its agent and account; `state` is the agent's."""

    used_at: datetime | None
    retired_at: datetime | None
    state: str
    account_id: str
    agent: str
    account: str


async def agent_row(connection: AsyncConnection, where: ColumnElement[bool]) -> LinkAgentRow | None:
    """Read the agent that `where` finds, with the name of its account; None: there is none."""
    query = (
        select(
            agents.c.id,
            agents.c.name,
            agents.c.state,
            agents.c.account_id,
            accounts.c.name.label("account"),
        )
        .join(accounts, accounts.c.id == agents.c.account_id)
        .where(where)
    )
    return await find_row(connection, query, LinkAgentRow)


async def locked_key(connection: AsyncConnection, key_id: str) -> LinkKeyRow | None:
    """Read a key with its agent and account, held until the commit; None: it is unknown."""
    query = (
        select(
            agent_keys,
            agents.c.state,
            agents.c.account_id,
            agents.c.name.label("agent"),
            accounts.c.name.label("account"),
        )
        .join(agents, agents.c.id == agent_keys.c.agent_id)
        .join(accounts, accounts.c.id == agents.c.account_id)
        .where(agent_keys.c.id == key_id)
        .with_for_update(of=agent_keys)
    )
    return await find_row(connection, query, LinkKeyRow)


async def retire_keys(connection: AsyncConnection, agent_id: str, now: datetime) -> None:
    """Retire all keys of the agent: none of them opens a link from `now` on."""
    mine = (agent_keys.c.agent_id == agent_id) & agent_keys.c.retired_at.is_(None)
    await connection.execute(update(agent_keys).where(mine).values(retired_at=now, **UNBOUND))


async def rotate_key(
    connection: AsyncConnection, ring: KeyRing, key: LinkKeyRow, next_public_key: str, now: datetime
) -> str:
    """Retire the keys that `key` replaces, and store its successor; return the id to use next.

    The older key stays valid until the newer one was used: an answer that is lost locks nobody out.
    """
    if key.used_at is None:
        older = (agent_keys.c.agent_id == key.agent_id) & (agent_keys.c.id < key.id)
        retired = {"retired_at": now, **UNBOUND}
        await connection.execute(update(agent_keys).where(older).values(retired))
    mine = agent_keys.c.id == key.id
    await connection.execute(update(agent_keys).where(mine).values(used_at=now))
    if not next_public_key:
        return key.id
    if not is_key(next_public_key):
        raise LinkRequestRefusedError(
            400, "next-key", "The next key is not an Ed25519 key.", SESSION_REMEDY
        )
    key_id = new_id()
    made = {
        "id": key_id,
        "agent_id": key.agent_id,
        "public_key": next_public_key,
        "sealing_key": key.sealing_key,
    }
    row = bound(ring, agent_keys, made)
    await connection.execute(insert(agent_keys).values(row))
    return key_id
