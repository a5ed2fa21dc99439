"""The link: what travels between an agent and the service, whatever carries it. Import from here.

The agent dials out; one connection carries frames both ways. Correctness never rests on the
transport: what goes up has a sequence and is acknowledged after the service has stored it, what
goes down is a task with an id that is never done twice.
"""

from __future__ import annotations

from bus.link.audit import (
    KEPT_HEADS,
    AuditHead,
    HeadSignature,
    KeepHead,
    KeptHeads,
    head_statement,
)
from bus.link.down import (
    Ack,
    Cancel,
    Credit,
    DownFrame,
    Fenced,
    Missing,
    Offer,
    WantBodies,
    WantBuckets,
    Welcome,
)
from bus.link.enrolment import (
    PROOF_HEADER,
    Challenge,
    Enrol,
    Enrolled,
    Session,
    SessionRequest,
    connection_proof,
    proof,
)
from bus.link.items import Item, ItemKind, StateBody
from bus.link.tasks import Task, TaskClass, TaskKind, TaskPhase, TaskProgress, TaskResult
from bus.link.up import Beat, Bodies, Bucket, Chunk, End, Hello, Items, Member, Root, Roots, UpFrame

PROTOCOL = (1, 2)
"""Oldest and newest version that this code speaks; 2: each connection is proven, see ADR 0016."""
PROVEN = 2
"""The first version in which an agent signs for each connection, and keeps heads of the audit."""
MAX_FRAME = 1 << 20
"""Bytes of one frame on the wire; larger ones end the connection."""

__all__ = [
    "KEPT_HEADS",
    "MAX_FRAME",
    "PROOF_HEADER",
    "PROTOCOL",
    "PROVEN",
    "Ack",
    "AuditHead",
    "Beat",
    "Bodies",
    "Bucket",
    "Cancel",
    "Challenge",
    "Chunk",
    "Credit",
    "DownFrame",
    "End",
    "Enrol",
    "Enrolled",
    "Fenced",
    "HeadSignature",
    "Hello",
    "Item",
    "ItemKind",
    "Items",
    "KeepHead",
    "KeptHeads",
    "Member",
    "Missing",
    "Offer",
    "Root",
    "Roots",
    "Session",
    "SessionRequest",
    "StateBody",
    "Task",
    "TaskClass",
    "TaskKind",
    "TaskPhase",
    "TaskProgress",
    "TaskResult",
    "UpFrame",
    "WantBodies",
    "WantBuckets",
    "Welcome",
    "connection_proof",
    "head_statement",
    "proof",
]
