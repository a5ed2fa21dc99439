"""Adoption of the key file at each start: compared with the database, columns encrypted.

A database that was used with other keys is refused: with a new key the service could not read what
the old one encrypted, and would vouch for an audit that it cannot check.

Nothing in the database decides whether the service vouches for what it finds: whoever can write
there could make each start look like the first. Only a key file made at this very start does; in
all other cases a person has to look, and the log names what nobody vouches for: unbound keys of
agents, which are in use, open no link, and were not written by this service with its key.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

import structlog
from msgspec.structs import asdict
from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.identity import new_id
from service.audit import audit_book
from service.audit.audit_record import AuditEntry, AuditSource, ChainedRecord
from service.keys import key_file
from service.keys.key_file import KeyFile, KeyFileError, KeyRing
from service.settings import ServiceSettings
from service.store.database import open_engine
from service.store.protected_columns import BoundKeyRow, bind_again, is_bound, rebind, reseal
from service.store.rows import read_rows
from service.store.tables import accounts, agent_keys, agents, service_keys

log = structlog.get_logger()

_LOCK = 0x67740005
_SHOWN = 20
_FIRST_START = "the service's first start with keys"


class UnboundKeyRow(BoundKeyRow, frozen=True, kw_only=True):
    """A key with the name and account of its agent."""

    agent: str
    account_id: str


async def unbound_keys(connection: AsyncConnection, ring: KeyRing) -> Sequence[UnboundKeyRow]:
    """Read and lock the keys of enrolled agents whose MAC does not verify, by agent."""
    query = (
        select(agent_keys, agents.c.name.label("agent"), agents.c.account_id)
        .join(agents, agents.c.id == agent_keys.c.agent_id)
        .where(agent_keys.c.retired_at.is_(None), agents.c.state == "enrolled")
        .order_by(agents.c.name, agent_keys.c.id)
        .with_for_update(of=agent_keys)
    )
    found = await read_rows(connection, query, UnboundKeyRow)
    return [row for row in found if not is_bound(ring, agent_keys, asdict(row))]


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
        if names is None or row.agent in names:
            await bind_again(connection, ring, agent_keys, asdict(row))
            await audit_book.record(connection, _entry(row, now, reason))
            done.append(row.agent)
    return list(dict.fromkeys(done))


def _entry(row: UnboundKeyRow, now: datetime, reason: str) -> AuditEntry:
    return AuditEntry(
        account=row.account_id,
        id=new_id(),
        time=now,
        actor="service",
        action="agent-key.bound",
        resource=f"agent/{row.agent}",
        outcome="done",
        source=AuditSource.SERVICE,
        detail={"key": row.id, "reason": reason},
    )


def open_keys(path: Path, *, generate: bool) -> KeyFile:
    """Open the key file, made where there is none with `generate`. Raises KeyFileError."""
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
    """Open the database for a command of the operator, with an audit that is signed.

    Raises KeyFileError.
    """
    keys = key_file.open_key_file(settings.key_file)
    async with open_engine(settings.database_url.get_secret_value(), 2, keys=keys) as engine:
        yield engine


async def adopt(engine: AsyncEngine, keys: KeyFile, now: datetime) -> None:
    """Compare the key file with the database. Raises KeyFileError, SealedValueError."""
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
        entry = AuditEntry(
            account=head.entry.account,
            id=new_id(),
            time=now,
            actor="service",
            action="audit.signed",
            resource="audit",
            outcome="done",
            source=AuditSource.SERVICE,
            detail={"through": head.sequence, "reason": reason},
        )
        await audit_book.sign_from_here(connection, entry)
        signed.append(name)
    return signed


async def _unsigned(connection: AsyncConnection) -> list[tuple[str, ChainedRecord]]:
    """Names of accounts whose newest record is not signed, with that record."""
    found: list[tuple[str, ChainedRecord]] = []
    for account in (await connection.execute(select(accounts).order_by(accounts.c.id))).all():
        head = await audit_book.newest(connection, account.id)
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
    names = dict.fromkeys(row.agent for row in await unbound_keys(connection, ring))
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
