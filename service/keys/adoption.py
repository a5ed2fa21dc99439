"""At each start the keys are compared with the database, and what is in clear is encrypted.

A database that was used with other keys is refused: a service that went on with a new key could not
read what the old one encrypted, and would vouch for an audit that it cannot check.

Nothing in the database decides whether the service vouches for what stands there: who can write it
could make each start look like the first. Only a key file that was made at this very start does; in
all other cases a person has to look, and what nobody vouches for is named in the log.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

import structlog
from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.ids import new_id
from service.audit import book
from service.audit.record import Entry, Record, Source
from service.keys import key_file
from service.keys.bound_rows import rebind
from service.keys.columns import reseal
from service.keys.key_file import KeyFile
from service.keys.key_ring import KeyFileError, KeyRing
from service.keys.unbound_keys import bind_keys, unbound_keys
from service.settings import ServiceSettings
from service.store.database import open_engine
from service.store.tables import accounts, service_keys

log = structlog.get_logger()

_LOCK = 0x67740005
_SHOWN = 20
_FIRST_START = "the service's first start with keys"


def open_keys(path: Path, *, generate: bool) -> KeyFile:
    """Raises KeyFileError. `generate`: make the file where there is none."""
    fresh = False
    try:
        if generate and not path.exists() and (fresh := key_file.generate(path)):
            log.warning("key file made: keep a copy apart from the database", file=str(path))
    except OSError as error:
        raise KeyFileError(
            f"GITOPS_SERVICE_KEY_FILE: {path} cannot be made: {error.strerror}"
        ) from error
    return key_file.open_key_file(path, fresh=fresh)


@asynccontextmanager
async def open_signing_engine(settings: ServiceSettings) -> AsyncIterator[AsyncEngine]:
    """The database for a command of the operator: what it records in the audit is signed.

    Raises KeyFileError.
    """
    keys = key_file.open_key_file(settings.key_file)
    async with open_engine(settings.database_url.get_secret_value(), 2, keys=keys) as engine:
        yield engine


async def adopt(engine: AsyncEngine, keys: KeyFile, now: datetime) -> None:
    """Raises KeyFileError, SealedValueError."""
    ring = keys.ring
    async with engine.begin() as connection:
        await connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        known = set((await connection.execute(select(service_keys.c.id))).scalars())
        _check(known, ring, keys.path)
        await note_keys(connection, ring)
        written = await reseal(connection, ring)
        if written:
            log.info("columns encrypted", rows=written, key=ring.current.id)
        await rebind(connection, ring)
        if keys.fresh:
            await sign_all(connection, now, _FIRST_START)
            await bind_keys(connection, ring, now, _FIRST_START)
        else:
            await _name_unproven(connection, ring)


async def note_keys(connection: AsyncConnection, ring: KeyRing) -> None:
    """This database is used with the keys of `ring` from now on."""
    rows = [{"id": key.id} for key in ring.secret]
    await connection.execute(insert(service_keys).on_conflict_do_nothing(), rows)


async def sign_all(connection: AsyncConnection, now: datetime, reason: str) -> list[str]:
    """Vouch for the audits that are not signed to their end; the accounts' names."""
    signed: list[str] = []
    for name, head in await _unsigned(connection):
        entry = Entry(
            account=head.entry.account,
            id=new_id(),
            time=now,
            actor="service",
            action="audit.signed",
            resource="audit",
            outcome="done",
            source=Source.SERVICE,
            detail={"through": head.sequence, "reason": reason},
        )
        await book.sign_from_here(connection, entry)
        signed.append(name)
    return signed


async def _unsigned(connection: AsyncConnection) -> list[tuple[str, Record]]:
    """Names of accounts whose newest record is not signed, with that record."""
    found: list[tuple[str, Record]] = []
    for account in (await connection.execute(select(accounts).order_by(accounts.c.id))).all():
        head = await book.newest(connection, account.id)
        if head is not None and not head.signature:
            found.append((account.name, head))
    return found


async def _name_unproven(connection: AsyncConnection, ring: KeyRing) -> None:
    """Say in the log what nobody vouches for."""
    for name, head in await _unsigned(connection):
        log.error(
            "audit is not signed to its end",
            account=name,
            sequence=head.sequence,
            remedy="look at it; then gitops service sign-audit",
        )
    names = dict.fromkeys(row["agent"] for row in await unbound_keys(connection, ring))
    if names:
        log.error(
            "keys of agents are not the service's own: they open no link",
            agents=list(names)[:_SHOWN],
            count=len(names),
            remedy="gitops service bind-agents after an upgrade; otherwise find out who writes to"
            " the database, and enrol these agents again",
        )


def _check(known: set[str], ring: KeyRing, path: Path) -> None:
    held = {key.id for key in ring.secret}
    if known and not known & held:
        raise KeyFileError(
            f"GITOPS_SERVICE_KEY_FILE: {path} holds the keys {_listed(held)}, and this database was"
            f" used with {_listed(known)}: start with the file that belongs to this database"
        )


def _listed(ids: set[str]) -> str:
    return ", ".join(sorted(ids))
