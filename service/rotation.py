"""Rotating the service's keys: a person's deed at the command line, audited.

Replicas need not be told: they read the key file again when it changes. Links stay; an agent knows
the new key because the old one signed the same head of the audit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.ids import new_id
from service.audit import book
from service.audit.record import Entry, Source
from service.keys import key_file
from service.keys.adoption import note_keys, open_signing_engine, sign_all
from service.keys.bound_rows import rebind
from service.keys.columns import reseal
from service.keys.key_ring import KeyFileError, KeyRing, with_new_key, with_only_current
from service.keys.root_key import new_root_key
from service.keys.unbound_keys import bind_keys, unbound_keys
from service.settings import ServiceSettings
from service.store.database import open_engine
from service.store.tables import accounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    key_id: str
    rows: int
    """So many were encrypted anew."""


async def rotate(settings: ServiceSettings, now: datetime, *, add: bool, retire: bool) -> Rotated:
    """Raises KeyFileError, SealedValueError. What was begun is finished by calling it again."""
    keys = key_file.open_key_file(settings.key_file)
    if add:
        _write(settings.key_file, with_new_key(keys.ring, new_root_key()))
    url = settings.database_url.get_secret_value()
    async with open_engine(url, 2, keys=keys) as engine, engine.begin() as connection:
        ring = keys.ring
        await note_keys(connection, ring)
        rows = await reseal(connection, ring)
        await rebind(connection, ring)
        await _record(connection, settings, ring.current.id, now, retired=retire)
    if retire:
        _write(settings.key_file, with_only_current(keys.ring))
    return Rotated(key_id=ring.current.id, rows=rows)


async def sign_audits(settings: ServiceSettings, now: datetime) -> Sequence[str]:
    """The accounts whose audit was not signed to its end, and is now. Raises KeyFileError."""
    async with open_signing_engine(settings) as engine, engine.begin() as connection:
        return await sign_all(connection, now, "an operator vouches for it")


async def unbound_agents(settings: ServiceSettings) -> Sequence[str]:
    """The agents with keys that the service did not write. Raises KeyFileError."""
    async with open_signing_engine(settings) as engine, engine.begin() as connection:
        ring = key_file.open_key_file(settings.key_file).ring
        return list(dict.fromkeys(it["agent"] for it in await unbound_keys(connection, ring)))


async def bind_agents(
    settings: ServiceSettings, now: datetime, names: Collection[str] | None
) -> Sequence[str]:
    """Vouch for the keys of these agents, or of all, as they stand. Raises KeyFileError."""
    async with open_signing_engine(settings) as engine, engine.begin() as connection:
        ring = key_file.open_key_file(settings.key_file).ring
        return await bind_keys(connection, ring, now, "an operator vouches for it", names)


def _write(path: Path, ring: KeyRing) -> None:
    try:
        key_file.replace(path, ring)
    except OSError as error:
        raise KeyFileError(
            f"GITOPS_SERVICE_KEY_FILE: {path} cannot be written: {error.strerror};"
            " change it by hand, then use --encrypt-only"
        ) from error


async def _record(
    connection: AsyncConnection,
    settings: ServiceSettings,
    key_id: str,
    now: datetime,
    *,
    retired: bool,
) -> None:
    query = select(accounts.c.id).where(accounts.c.name == settings.account)
    account = await connection.scalar(query)
    if account is None:
        return
    entry = Entry(
        account=account,
        id=new_id(),
        time=now,
        actor="command line",
        action="service-key.rotated",
        resource=f"service-key/{key_id}",
        outcome="done",
        source=Source.SERVICE,
        detail={"olderRetired": retired},
    )
    await book.record(connection, entry)
