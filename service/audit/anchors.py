"""Anchors: signed heads of the audit that agents keep in their own clusters and give back.

The table of anchors is as much in the database owner's hands as the audit is. That does no harm: a
head that is not signed counts for nothing, and one that was deleted comes back with the next word
of its agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import structlog
from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link import KEPT_HEADS, AuditHead, HeadSignature, head_statement
from service.audit import audit_book
from service.audit.checkpoints import checkpoint_of
from service.keys.key_file import KeyRing
from service.keys.root_key import VerifyingKey
from service.store.tables import agents, audit, audit_anchors

log = structlog.get_logger()


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    agent: str
    sequence: int
    hash: str
    key_id: str
    signature: str


async def head_of(connection: AsyncConnection, account: str, ring: KeyRing) -> AuditHead | None:
    """Sign the newest head with every key; None where the chain is not vouched for."""
    head = await audit_book.newest(connection, account)
    if head is None or not head.signature:
        return None
    message = head_statement(account, head.sequence, head.hash)
    if not ring.verifies(head.key_id, head.signature, message):
        return None
    return AuditHead(
        account=account,
        sequence=head.sequence,
        hash=head.hash,
        signatures=tuple(
            HeadSignature(public_key=key.public.text, signature=key.sign(message))
            for key in ring.secret
        ),
    )


async def keep(
    connection: AsyncConnection,
    account: str,
    agent_id: str,
    heads: Sequence[AuditHead],
    ring: KeyRing,
) -> None:
    """Store the heads that an agent gave back and we signed, instead of its earlier ones."""
    found = [row for head in heads[-KEPT_HEADS:] if (row := _row(head, account, agent_id, ring))]
    if not found:
        return
    checkpoint = await checkpoint_of(connection, account, ring)
    await _compare(connection, account, found, checkpoint.sequence if checkpoint else 0)
    statement = insert(audit_anchors)
    await connection.execute(
        statement.on_conflict_do_update(
            index_elements=["agent_id", "sequence"],
            set_={name: statement.excluded[name] for name in ("hash", "key_id", "signature")},
        ),
        sorted(found, key=lambda row: int(row["sequence"])),
    )
    kept = audit_anchors.c.sequence.in_([row["sequence"] for row in found])
    mine = audit_anchors.c.agent_id == agent_id
    await connection.execute(delete(audit_anchors).where(mine, ~kept))


async def anchors_of(
    connection: AsyncConnection, account: str, ring: KeyRing
) -> Mapping[int, Anchor]:
    """Read the anchors by sequence; a head that contradicts the record counts first."""
    query = (
        select(audit_anchors, agents.c.name.label("agent"), audit.c.hash.label("ours"))
        .join(agents, agents.c.id == audit_anchors.c.agent_id)
        .outerjoin(
            audit,
            (audit.c.account_id == audit_anchors.c.account_id)
            & (audit.c.sequence == audit_anchors.c.sequence),
        )
        .where(audit_anchors.c.account_id == account)
        .order_by(audit_anchors.c.sequence, audit_anchors.c.agent_id)
    )
    found: dict[int, Anchor] = {}
    for row in await connection.execute(query):
        message = head_statement(account, row.sequence, row.hash)
        fits = ring.verifies(row.key_id, row.signature, message)
        if fits and (row.sequence not in found or row.hash != row.ours):
            found[row.sequence] = Anchor(
                agent=row.agent,
                sequence=row.sequence,
                hash=row.hash,
                key_id=row.key_id,
                signature=row.signature,
            )
    return found


def _row(
    head: AuditHead, account: str, agent_id: str, ring: KeyRing
) -> dict[str, str | int] | None:
    """None where none of our keys signed it, or where it is another account's."""
    if head.account != account:
        return None
    message = head_statement(account, head.sequence, head.hash)
    for one in head.signatures[:KEPT_HEADS]:
        key = _ours(one, ring)
        if key is not None and key.verifies(one.signature, message):
            return {
                "agent_id": agent_id,
                "account_id": account,
                "sequence": head.sequence,
                "hash": head.hash,
                "key_id": key.id,
                "signature": one.signature,
            }
    return None


def _ours(one: HeadSignature, ring: KeyRing) -> VerifyingKey | None:
    known = (*(key.public for key in ring.secret), *ring.retired)
    return next((key for key in known if key.text == one.public_key), None)


async def _compare(
    connection: AsyncConnection,
    account: str,
    found: Iterable[Mapping[str, str | int]],
    trimmed: int,
) -> None:
    """Say at once what `verify` would say; of what retention removed nothing is left to compare."""
    announced = {int(row["sequence"]): row for row in found if int(row["sequence"]) > trimmed}
    query = select(audit.c.sequence, audit.c.hash).where(
        audit.c.account_id == account, audit.c.sequence.in_(announced)
    )
    ours = {row.sequence: row.hash for row in await connection.execute(query)}
    for sequence, row in sorted(announced.items()):
        if ours.get(sequence) != row["hash"]:
            log.error(
                "audit was cut or made anew: an agent keeps another head",
                account=account,
                agent=row["agent_id"],
                sequence=sequence,
                remedy="gitops audit verify",
            )
            return
