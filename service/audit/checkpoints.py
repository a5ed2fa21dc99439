"""Checkpoints: where retention cut an account's audit, signed by the service.

The first records of a chain may be gone for two reasons: they were too old, or somebody took them.
Only the service, which has the key, can say that it was the first: it signs the sequence and hash
of the last record that it removed, after the chain was verified up to there. What is signed differs
from the signature of a record, so nobody can make a checkpoint of a record that was kept.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.keys.key_file import KeyRing
from service.keys.root_key import RootKey
from service.store.tables import audit_checkpoints


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    account: str
    sequence: int
    """Of the last record that was removed."""
    hash: str
    cut_at: datetime
    key_id: str = ""
    signature: str = ""


def statement_of(checkpoint: Checkpoint) -> bytes:
    """What the signature of a checkpoint is over."""
    cut_at = checkpoint.cut_at.astimezone(UTC).isoformat(timespec="microseconds")
    parts = (
        "gitops audit checkpoint 1",
        checkpoint.account,
        str(checkpoint.sequence),
        checkpoint.hash,
        cut_at,
    )
    return "\n".join(parts).encode()


def signed(checkpoint: Checkpoint, key: RootKey) -> Checkpoint:
    """`checkpoint` with the signature of the service."""
    signature = key.sign(statement_of(checkpoint))
    return msgspec.structs.replace(checkpoint, key_id=key.id, signature=signature)


async def checkpoint_of(
    connection: AsyncConnection, account: str, ring: KeyRing
) -> Checkpoint | None:
    """Read the signed checkpoint; None where nothing was cut or the signature is not ours."""
    query = select(audit_checkpoints).where(audit_checkpoints.c.account_id == account)
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        return None
    found = Checkpoint(
        account=account,
        sequence=row.sequence,
        hash=row.hash,
        cut_at=row.cut_at,
        key_id=row.key_id,
        signature=row.signature,
    )
    return found if ring.verifies(found.key_id, found.signature, statement_of(found)) else None


async def store(connection: AsyncConnection, checkpoint: Checkpoint) -> None:
    """Instead of the account's earlier one."""
    values = {
        "sequence": checkpoint.sequence,
        "hash": checkpoint.hash,
        "cut_at": checkpoint.cut_at,
        "key_id": checkpoint.key_id,
        "signature": checkpoint.signature,
    }
    statement = insert(audit_checkpoints).values(account_id=checkpoint.account, **values)
    await connection.execute(
        statement.on_conflict_do_update(index_elements=["account_id"], set_=values)
    )
