"""One line of the audit, and the chain: each record holds the hash of the one before it.

Pure. The hash is sha256 over the previous hash and the record as canonical JSON, so a record that
is changed, taken out or put in breaks every hash after it. The signature over the hash is made with
a key outside the database, so who owns the tables cannot make the chain anew. What neither can
show, the loss of the newest records, the agents do that keep signed heads: see anchors.py.
"""

from __future__ import annotations

import hashlib
import uuid
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec

from bus.link import head_statement
from service.keys.root_key import RootKey

START = "0" * 64
"""What the first record of an account holds as its predecessor."""


class Source(StrEnum):
    API = "api"
    AGENT = "agent"
    SERVICE = "service"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
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
    source: Source = Source.API
    detail: dict[str, Any] = {}


class Record(msgspec.Struct, frozen=True, kw_only=True):
    sequence: int
    previous: str
    hash: str
    entry: Entry
    key_id: str = ""
    signature: str = ""
    """Over the hash, by the service's key `key_id`; empty where nobody vouched for it."""


def chained(entry: Entry, sequence: int, previous: str) -> Record:
    return Record(
        sequence=sequence,
        previous=previous,
        hash=hash_of(entry, sequence, previous),
        entry=entry,
    )


def signed(record: Record, key: RootKey) -> Record:
    """`record` with the signature of the service."""
    signature = key.sign(statement_of(record))
    return msgspec.structs.replace(record, key_id=key.id, signature=signature)


def statement_of(record: Record) -> bytes:
    """What is signed: the account, the place in the chain and the hash."""
    return head_statement(record.entry.account, record.sequence, record.hash)


def hash_of(entry: Entry, sequence: int, previous: str) -> str:
    body = msgspec.to_builtins(entry) | {
        "sequence": sequence,
        "time": entry.time.astimezone(UTC).isoformat(timespec="microseconds"),
    }
    plain = msgspec.json.encode(body, order="deterministic")
    return hashlib.sha256(previous.encode() + b"\n" + plain).hexdigest()


def deterministic_id(account: str, *parts: str) -> str:
    """For what agents tell: the same fact told twice has one id."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "\0".join(("audit", account, *parts))))
