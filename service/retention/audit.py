"""Retention of the audit: it is cut at its beginning only, and only where it verifies.

Of an account's chain the records before a time go, as far as no kept record precedes one of them: a
late report has a later place in the chain. The newest record always stays, because the next one
continues it. A chain that does not verify is kept as it is: it is evidence.
"""

from __future__ import annotations

from datetime import datetime

import structlog
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.identity import new_id
from service.audit import audit_book, checkpoints
from service.audit.audit_record import AuditEntry, AuditSource
from service.audit.checkpoints import Checkpoint
from service.audit.verification import verify
from service.keys.key_file import KeyRing
from service.store.tables import accounts, audit

log = structlog.get_logger()


async def checkpoint_all(
    engine: AsyncEngine, ring: KeyRing, before: datetime, now: datetime
) -> None:
    """Sign for each account how far its records may be removed."""
    async with engine.connect() as connection:
        names = list((await connection.execute(select(accounts.c.id))).scalars())
    for account in names:
        async with engine.begin() as connection:
            await checkpoint(connection, account, ring, before, now)


async def checkpoint(
    connection: AsyncConnection, account: str, ring: KeyRing, before: datetime, now: datetime
) -> None:
    """Sign how far one account's records may be removed; nothing is written where none may."""
    earlier = await checkpoints.checkpoint_of(connection, account, ring)
    removed = 0 if earlier is None else earlier.sequence
    last = await _last_before(connection, account, before, removed)
    if last is None:
        return
    verdict = await verify(connection, account, ring)
    if not verdict.intact:
        log.error(
            "audit not trimmed: it does not verify",
            account=account,
            record=verdict.broken_at,
            reason=verdict.reason,
            remedy="gitops audit verify",
        )
        return
    made = Checkpoint(account=account, sequence=last[0], hash=last[1], cut_at=now)
    await audit_book.record(connection, _entry(made, removed, before))
    await checkpoints.store(connection, checkpoints.signed(made, ring.current))
    log.info("audit trimmed", account=account, through=made.sequence, records=last[0] - removed)


async def _last_before(
    connection: AsyncConnection, account: str, before: datetime, removed: int
) -> tuple[int, str] | None:
    """Sequence and hash of the last record that goes; None where none goes."""
    present = (audit.c.account_id == account) & (audit.c.sequence > removed)
    kept = func.min(audit.c.sequence).filter(audit.c.time >= before)
    # One statement, one moment: a record that is written between two would be taken for the newest,
    # and those that were written with it for old ones.
    first_kept = select(func.coalesce(kept, func.max(audit.c.sequence))).where(present)
    query = select(audit.c.sequence, audit.c.hash).where(
        present, audit.c.sequence == first_kept.scalar_subquery() - 1
    )
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else (row.sequence, row.hash)


def _entry(made: Checkpoint, removed: int, before: datetime) -> AuditEntry:
    return AuditEntry(
        account=made.account,
        id=new_id(),
        time=made.cut_at,
        actor="service",
        action="audit.trimmed",
        resource="audit",
        outcome="done",
        source=AuditSource.SERVICE,
        detail={
            "after": removed,
            "through": made.sequence,
            "hash": made.hash,
            "before": before.isoformat(),
        },
    )
