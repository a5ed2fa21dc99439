"""One line of the audit, and the chain: each record holds the hash of the one before it.

Pure. The hash is sha256 over the previous hash and the record as canonical JSON, so a record that
is changed, taken out or put in breaks every hash after it. What the chain cannot show, the loss of
its newest records, the exported copies do.
"""

from __future__ import annotations

import hashlib
import uuid
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec

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


def chained(entry: Entry, sequence: int, previous: str) -> Record:
    return Record(
        sequence=sequence,
        previous=previous,
        hash=hash_of(entry, sequence, previous),
        entry=entry,
    )


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
