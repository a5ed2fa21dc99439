"""Walk the chain and name the first record that does not fit. Also over an exported copy."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from service.audit.book import after
from service.audit.record import START, Record, hash_of


class Verdict(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    intact: bool
    records: int
    head: str = ""
    """Hash of the last record that fits."""
    broken_at: int = 0
    """Sequence at which the chain breaks."""
    reason: str = ""


NOTHING = Verdict(intact=True, records=0, head=START)


def walk(records: Iterable[Record], so_far: Verdict = NOTHING) -> Verdict:
    """Pure; goes on from `so_far`, stops at the first break."""
    for it in records:
        if not so_far.intact:
            break
        so_far = _next(it, so_far)
    return so_far


async def verify(connection: AsyncConnection, account: str) -> Verdict:
    verdict = NOTHING
    while verdict.intact:
        records = await after(connection, account, verdict.records)
        if not records:
            break
        verdict = walk(records, verdict)
    return verdict


def _next(it: Record, before: Verdict) -> Verdict:
    expected = before.records + 1
    reason = ""
    if it.sequence != expected:
        reason = f"record {expected} is missing: the next one is {it.sequence}"
    elif it.previous != before.head:
        reason = f"record {it.sequence} does not continue record {before.records}"
    elif it.hash != hash_of(it.entry, it.sequence, it.previous):
        reason = f"record {it.sequence} was changed after it was written"
    if reason:
        return Verdict(
            intact=False,
            records=before.records,
            head=before.head,
            broken_at=expected,
            reason=reason,
        )
    return Verdict(intact=True, records=it.sequence, head=it.hash)
