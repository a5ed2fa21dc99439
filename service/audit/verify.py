"""Walk the chain and name the first record that does not fit. Also over an exported copy.

Three things have to fit: each record's hash continues the one before it; each record is signed with
a key of the service; and at the places whose signed heads agents gave back, the chain still says
what it said then. The first shows a change, the second a chain that was made anew, the third a
chain that was cut. Where retention removed the beginning a signed checkpoint says so, and the walk
begins there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from service.audit.anchors import Anchor, anchors_of
from service.audit.book import after
from service.audit.checkpoints import Checkpoint, checkpoint_of
from service.audit.record import START, Record, hash_of, statement_of
from service.keys.key_ring import KeyRing


class Verdict(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
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


NOTHING = Verdict(intact=True, records=0, head=START)


class Proofs(msgspec.Struct, frozen=True, kw_only=True):
    """What the chain is compared with, beside itself."""

    ring: KeyRing | None = None
    """None: signatures are not looked at, as in an exported copy."""
    anchors: Mapping[int, Anchor] = {}


CHAIN_ONLY = Proofs()


def walk(
    records: Iterable[Record], so_far: Verdict = NOTHING, proofs: Proofs = CHAIN_ONLY
) -> Verdict:
    """Pure; goes on from `so_far`, stops at the first break."""
    for it in records:
        if not so_far.intact:
            break
        so_far = _next(it, so_far, proofs)
    return so_far


def ended(verdict: Verdict, proofs: Proofs) -> Verdict:
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


async def verify(connection: AsyncConnection, account: str, ring: KeyRing) -> Verdict:
    proofs = Proofs(ring=ring, anchors=await anchors_of(connection, account, ring))
    checkpoint = await checkpoint_of(connection, account, ring)
    verdict = NOTHING if checkpoint is None else _begin(checkpoint, proofs)
    while verdict.intact:
        records = await after(connection, account, verdict.records)
        if not records:
            break
        verdict = walk(records, verdict, proofs)
    return ended(verdict, proofs)


def _begin(checkpoint: Checkpoint, proofs: Proofs) -> Verdict:
    """Before the first record that was kept."""
    last = checkpoint.sequence
    verdict = Verdict(intact=True, records=last, head=checkpoint.hash, trimmed=last)
    anchor = proofs.anchors.get(last)
    if anchor is None:
        return verdict
    if anchor.hash == checkpoint.hash:
        return msgspec.structs.replace(verdict, anchors=1)
    reason = f"record {last}, removed by retention, is not the one that agent {anchor.agent} keeps"
    return _broken(msgspec.structs.replace(verdict, records=last - 1), reason)


def _next(it: Record, before: Verdict, proofs: Proofs) -> Verdict:
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


def _chain_problem(it: Record, before: Verdict) -> str:
    expected = before.records + 1
    if it.sequence != expected:
        return f"record {expected} is missing: the next one is {it.sequence}"
    if it.previous != before.head:
        return f"record {it.sequence} does not continue record {before.records}"
    if it.hash != hash_of(it.entry, it.sequence, it.previous):
        return f"record {it.sequence} was changed after it was written"
    return ""


def _signature_problem(it: Record, before: Verdict, ring: KeyRing | None) -> str:
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


def _broken(before: Verdict, reason: str) -> Verdict:
    return msgspec.structs.replace(
        before, intact=False, broken_at=before.records + 1, reason=reason
    )
