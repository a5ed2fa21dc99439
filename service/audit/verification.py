"""Verification of an audit chain, and its export as JSON lines, so that a copy can be verified.

Three things must fit: each record's hash continues the one before it; each record is signed with a
key of the service; and heads that agents keep still match the chain. The first shows a change, the
second a chain that was made anew, the third a chain that was cut. Where retention removed the
beginning, verification starts at a signed checkpoint. The verdict names the first record that does
not fit. An exported line is one complete record.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from service.audit.anchors import Anchor, anchors_of
from service.audit.audit_book import after
from service.audit.audit_record import START, ChainedRecord, hash_of, statement_of
from service.audit.checkpoints import Checkpoint, checkpoint_of
from service.keys.key_file import KeyRing


class ChainVerdict(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    intact: bool
    records: int
    head: str = ""
    """Hash of the last record that fits."""
    signed: bool = False
    """The last record that fits is signed, and by its hash all before it are vouched for."""
    anchors: int = 0
    """How many heads that agents keep fit."""
    trimmed: int = 0
    """Sequence of the last record that retention removed, as a signed checkpoint says."""
    broken_at: int = 0
    """Sequence at which the chain breaks."""
    reason: str = ""


NOTHING = ChainVerdict(intact=True, records=0, head=START)


class ChainProofs(msgspec.Struct, frozen=True, kw_only=True):
    """What the chain is compared with, beside itself."""

    ring: KeyRing | None = None
    """None: signatures are not looked at, as in an exported copy."""
    anchors: Mapping[int, Anchor] = {}


CHAIN_ONLY = ChainProofs()


def walk(
    records: Iterable[ChainedRecord],
    verdict: ChainVerdict = NOTHING,
    proofs: ChainProofs = CHAIN_ONLY,
) -> ChainVerdict:
    """Pure; goes on from `verdict`, stops at the first break."""
    for it in records:
        if not verdict.intact:
            break
        verdict = _next(it, verdict, proofs)
    return verdict


def ended(verdict: ChainVerdict, proofs: ChainProofs) -> ChainVerdict:
    """The verdict after the last record: whether the end of the chain is vouched for. Pure."""
    beyond = [it for it in proofs.anchors.values() if it.sequence > verdict.records]
    if not verdict.intact:
        return verdict
    if beyond:
        anchor = min(beyond, key=lambda it: it.sequence)
        reason = (
            f"record {verdict.records + 1} is missing: agent {anchor.agent} keeps the signed head"
            f" of record {anchor.sequence}"
        )
        return _broken(verdict, reason)
    if proofs.ring is not None and verdict.records and not verdict.signed:
        reason = "no record is signed: look at them, then vouch for them: gitops service sign-audit"
        return _broken(msgspec.structs.replace(verdict, records=0, head=START), reason)
    return verdict


async def verify(connection: AsyncConnection, account: str, ring: KeyRing) -> ChainVerdict:
    proofs = ChainProofs(ring=ring, anchors=await anchors_of(connection, account, ring))
    checkpoint = await checkpoint_of(connection, account, ring)
    verdict = NOTHING if checkpoint is None else _begin(checkpoint, proofs)
    while verdict.intact:
        records = await after(connection, account, verdict.records)
        if not records:
            break
        verdict = walk(records, verdict, proofs)
    return ended(verdict, proofs)


def _begin(checkpoint: Checkpoint, proofs: ChainProofs) -> ChainVerdict:
    """Before the first record that was kept."""
    last = checkpoint.sequence
    verdict = ChainVerdict(intact=True, records=last, head=checkpoint.hash, trimmed=last)
    anchor = proofs.anchors.get(last)
    if anchor is None:
        return verdict
    if anchor.hash == checkpoint.hash:
        return msgspec.structs.replace(verdict, anchors=1)
    reason = f"record {last}, removed by retention, is not the one that agent {anchor.agent} keeps"
    return _broken(msgspec.structs.replace(verdict, records=last - 1), reason)


def _next(it: ChainedRecord, before: ChainVerdict, proofs: ChainProofs) -> ChainVerdict:
    reason = _chain_problem(it, before) or _signature_problem(it, before, proofs.ring)
    anchor = proofs.anchors.get(it.sequence)
    if not reason and anchor is not None and anchor.hash != it.hash:
        reason = (
            f"record {it.sequence} is not the one whose signed head agent {anchor.agent} keeps:"
            " records up to it were made anew"
        )
    if reason:
        return _broken(before, reason)
    return msgspec.structs.replace(
        before,
        records=it.sequence,
        head=it.hash,
        signed=bool(it.signature),
        anchors=before.anchors + (anchor is not None),
    )


def _chain_problem(it: ChainedRecord, before: ChainVerdict) -> str:
    expected = before.records + 1
    if it.sequence != expected:
        return f"record {expected} is missing: the next one is {it.sequence}"
    if it.previous != before.head:
        return f"record {it.sequence} does not continue record {before.records}"
    if it.hash != hash_of(it.entry, it.sequence, it.previous):
        return f"record {it.sequence} was changed after it was written"
    return ""


def _signature_problem(it: ChainedRecord, before: ChainVerdict, ring: KeyRing | None) -> str:
    """Records from before the first signed one are vouched for by its hash."""
    if ring is None:
        return ""
    if not it.signature:
        return f"record {it.sequence} is not signed, and the one before it is" * before.signed
    if ring.public(it.key_id) is None:
        return (
            f"record {it.sequence} is signed with key {it.key_id[:16]}, of which the key file knows"
            " nothing"
        )
    if not ring.verifies(it.key_id, it.signature, statement_of(it)):
        return f"record {it.sequence} is not the one that the service signed"
    return ""


def _broken(before: ChainVerdict, reason: str) -> ChainVerdict:
    return msgspec.structs.replace(
        before, intact=False, broken_at=before.records + 1, reason=reason
    )


async def lines(engine: AsyncEngine, account: str, since: int = 0) -> AsyncIterator[bytes]:
    """Blocks of lines; a connection is held only while a block is read."""
    while True:
        async with engine.connect() as connection:
            records = await after(connection, account, since)
        if not records:
            return
        since = records[-1].sequence
        yield b"".join(msgspec.json.encode(it) + b"\n" for it in records)


def parse(line: bytes) -> ChainedRecord:
    return msgspec.json.decode(line, type=ChainedRecord)
