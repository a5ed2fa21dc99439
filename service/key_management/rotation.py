"""Rotation of the service's keys by the operator, at the command line and audited.

Replicas need no notice: they read the key file again when it changes. Links stay open; an agent
knows the new key because the old one signed the same head of the audit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.identity import new_id
from service.audit import audit_book
from service.audit.audit_record import AuditEntry, AuditSource
from service.key_management.adoption import (
    bind_keys,
    note_keys,
    open_signing_engine,
    sign_all,
    unbound_keys,
)
from service.keys import key_file
from service.keys.key_file import KeyFileError, KeyRing, with_new_key, with_only_current
from service.keys.root_key import new_root_key
from service.settings import ServiceSettings
from service.store.database import open_engine
from service.store.protected_columns import rebind, reseal
from service.store.tables import accounts


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRotation:
    key_id: str
    rows: int
    """So many were encrypted anew."""


async def rotate(
    settings: ServiceSettings, now: datetime, *, add: bool, retire: bool
) -> KeyRotation:
    """Rotate the key; repeat to finish what was begun. Raises KeyFileError, SealedValueError."""
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
    return KeyRotation(key_id=ring.current.id, rows=rows)


async def sign_audits(settings: ServiceSettings, now: datetime) -> Sequence[str]:
    """Sign the audits that are not, to their end; return their accounts. Raises KeyFileError."""
    async with open_signing_engine(settings) as engine, engine.begin() as connection:
        return await sign_all(connection, now, "an operator vouches for it")


async def unbound_agents(settings: ServiceSettings) -> Sequence[str]:
    """List the agents with keys that the service did not write. Raises KeyFileError."""
    async with open_signing_engine(settings) as engine, engine.begin() as connection:
        ring = key_file.open_key_file(settings.key_file).ring
        return list(dict.fromkeys(it.agent for it in await unbound_keys(connection, ring)))


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
    entry = AuditEntry(
        account=account,
        id=new_id(),
        time=now,
        actor="command line",
        action="service-key.rotated",
        resource=f"service-key/{key_id}",
        outcome="done",
        source=AuditSource.SERVICE,
        detail={"olderRetired": retired},
    )
    await audit_book.record(connection, entry)
