"""Rotating the key that signs agents' sessions: a person's deed at the command line, audited.

Replicas need not be told: they read the keys each time. Links stay; an agent notices nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.ids import new_id
from service.audit import book
from service.audit.record import Entry, Source
from service.gateway import keys
from service.settings import ServiceSettings
from service.store.database import open_engine
from service.store.tables import accounts


async def rotate_signing_key(settings: ServiceSettings, now: datetime, *, at_once: bool) -> str:
    """Its id. `at_once`: what older keys signed opens nothing from now on."""
    overlap = timedelta(seconds=0 if at_once else settings.session_seconds)
    url = settings.database_url.get_secret_value()
    async with open_engine(url, 2) as engine, engine.begin() as connection:
        key_id = await keys.rotate(connection, overlap, now)
        query = select(accounts.c.id).where(accounts.c.name == settings.account)
        account = await connection.scalar(query)
        if account is not None:
            await _record(connection, account, key_id, now, at_once=at_once)
    return key_id


async def _record(
    connection: AsyncConnection, account: str, key_id: str, now: datetime, *, at_once: bool
) -> None:
    entry = Entry(
        account=account,
        id=new_id(),
        time=now,
        actor="command line",
        action="signing-key.rotated",
        resource=f"signing-key/{key_id}",
        outcome="done",
        source=Source.SERVICE,
        detail={"atOnce": at_once},
    )
    await book.record(connection, entry)
