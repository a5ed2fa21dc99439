"""Audit records: their chain, and the redaction of their details. Pure.

Each record holds the hash of the one before it. The hash is sha256 over the previous hash and the
record as canonical JSON, so a record that is changed, removed or inserted breaks every hash after
it. The signature over the hash is made with a key outside the database, so the owner of the tables
cannot make the chain anew. Agents that keep signed heads show the loss of the newest records: see
anchors.py.

Details show the shape of before and after, never a credential: a value under a sensitive name is
replaced, a text loses what looks like a credential, and a long text is cut. The audit is kept for
years and read by many.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec

from bus.link import head_statement
from bus.redaction import HIDDEN, is_sensitive, masked
from service.keys.root_key import RootKey

START = "0" * 64
"""What the first record of an account holds as its predecessor."""
_LONGEST = 2000
_DEEPEST = 12
_LARGEST_NUMBER = 2**53
_ALSO = ("sealed", "hash", "private")
"""Of our own records: boxes for agents, hashes of passwords and tokens, private halves of keys."""


class AuditSource(StrEnum):
    API = "api"
    AGENT = "agent"
    SERVICE = "service"


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What is said, before it has a place in the chain."""

    account: str
    id: str
    """Deterministic where the same thing may be told twice: it is recorded once."""
    time: datetime
    actor: str
    action: str
    """`noun.verb`: application.sync, agent.created, login.failed."""
    resource: str
    address: str = ""
    project: str = ""
    decision: str = "allowed"
    outcome: str = ""
    source: AuditSource = AuditSource.API
    detail: dict[str, Any] = {}


class ChainedRecord(msgspec.Struct, frozen=True, kw_only=True):
    sequence: int
    previous: str
    hash: str
    entry: AuditEntry
    key_id: str = ""
    signature: str = ""
    """Over the hash, by the service's key `key_id`; empty where nobody vouched for it."""


def chained(entry: AuditEntry, sequence: int, previous: str) -> ChainedRecord:
    return ChainedRecord(
        sequence=sequence,
        previous=previous,
        hash=hash_of(entry, sequence, previous),
        entry=entry,
    )


def signed(record: ChainedRecord, key: RootKey) -> ChainedRecord:
    """`record` with the signature of the service."""
    signature = key.sign(statement_of(record))
    return msgspec.structs.replace(record, key_id=key.id, signature=signature)


def statement_of(record: ChainedRecord) -> bytes:
    """What is signed: the account, the place in the chain and the hash."""
    return head_statement(record.entry.account, record.sequence, record.hash)


def hash_of(entry: AuditEntry, sequence: int, previous: str) -> str:
    body = msgspec.to_builtins(entry) | {
        "sequence": sequence,
        "time": entry.time.astimezone(UTC).isoformat(timespec="microseconds"),
    }
    plain = msgspec.json.encode(body, order="deterministic")
    return hashlib.sha256(previous.encode() + b"\n" + plain).hexdigest()


def deterministic_id(account: str, *parts: str) -> str:
    """Derive the id of a record of an agent's report: a repeated one has the same id."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "\0".join(("audit", account, *parts))))


def redacted(value: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        return "(deeper)"
    if isinstance(value, Mapping):
        return {str(key): _item(str(key), it, depth) for key, it in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redacted(it, depth + 1) for it in value]
    if isinstance(value, str):
        return masked(value)[:_LONGEST]
    return value if _is_kept(value) else str(value)[:_LONGEST]


def _is_kept(value: object) -> bool:
    """Whether the database gives it back as it is: other numbers would change the hash."""
    if isinstance(value, bool) or value is None:
        return True
    return isinstance(value, int) and abs(value) <= _LARGEST_NUMBER


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Only what differs, as `{field: {before, after}}`."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return {name: _pair(name, before.get(name), after.get(name)) for name in sorted(names)}


def _pair(name: str, before: Any, after: Any) -> dict[str, Any]:
    return {"before": _item(name, before, 0), "after": _item(name, after, 0)}


def _item(name: str, value: Any, depth: int) -> Any:
    named = is_sensitive(name) or name.lower().endswith(_ALSO)
    return HIDDEN if named and value and not isinstance(value, bool) else redacted(value, depth + 1)
