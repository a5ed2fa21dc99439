"""Effects that a link asks for, and their outcomes: the two edges of connection.py."""

from __future__ import annotations

import msgspec

from bus.link import (
    AuditHead,
    Bodies,
    BucketMember,
    Chunk,
    DownFrame,
    End,
    Hello,
    LinkItem,
    Root,
    UpFrame,
)
from service.gateway.link_opening import OpenedLink
from service.projection.writer import StoredBatch
from service.store.link_signals import LinkSignal


class _Value(msgspec.Struct, frozen=True, kw_only=True):
    pass


# --- wanted: carried out by carry.py, in order ---------------------------------------------------


class OpenLink(_Value, frozen=True, kw_only=True):
    hello: Hello


class StoreItems(_Value, frozen=True, kw_only=True):
    items: tuple[LinkItem, ...]


class StoreBodies(_Value, frozen=True, kw_only=True):
    bodies: Bodies


class CompareRoots(_Value, frozen=True, kw_only=True):
    """Do we hold the same? `again`: after an answer, only to see whether it is in step now."""

    kinds: dict[str, Root]
    again: bool = False


class CompareMembers(_Value, frozen=True, kw_only=True):
    """A complete look at one kind: all of its buckets have arrived."""

    kind: str
    members: tuple[BucketMember, ...]
    through: int


class DoubtKinds(_Value, frozen=True, kw_only=True):
    """Too many are missing at once to be believed: mark them, and look a second time."""

    kind: str
    subjects: frozenset[str]


class ActivateEpoch(_Value, frozen=True, kw_only=True):
    """The quarantined epoch is complete: see whether it holds what is known."""


class SendAuditHead(_Value, frozen=True, kw_only=True):
    """Give the agent the newest head of the audit to keep."""


class KeepAuditHeads(_Value, frozen=True, kw_only=True):
    """Heads that the agent gave back."""

    heads: tuple[AuditHead, ...]


class OfferTasks(_Value, frozen=True, kw_only=True):
    """`running`: ids that the agent says are at work; `first`: offer begun ones again."""

    running: tuple[str, ...] = ()
    first: bool = False


class RecordHeartbeat(_Value, frozen=True, kw_only=True):
    """A sign of life; None where it was not measured."""

    round_trip_ms: int | None = None
    clock_skew_ms: int | None = None


class RelayChunk(_Value, frozen=True, kw_only=True):
    """Part of a stream, to whoever reads it on whichever replica."""

    part: Chunk | End


class PingAgent(_Value, frozen=True, kw_only=True):
    """A ping of the WebSocket itself, answered at once by whatever library is there."""


class CloseLink(_Value, frozen=True, kw_only=True):
    """A WebSocket close code and a reason for the agent's log."""

    code: int
    reason: str


Effect = (
    OpenLink
    | StoreItems
    | StoreBodies
    | CompareRoots
    | CompareMembers
    | DoubtKinds
    | ActivateEpoch
    | SendAuditHead
    | KeepAuditHeads
    | OfferTasks
    | RecordHeartbeat
    | RelayChunk
    | PingAgent
    | CloseLink
)

# --- what came of it: fed back into the connection ---------------------------------------------


class LinkRefusal(_Value, frozen=True, kw_only=True):
    """The link may not be opened, or is another's now."""

    reason: str
    retry_after: float = 0.0
    """Seconds; 0: a person has to do something."""


class RootsCompared(_Value, frozen=True, kw_only=True):
    differing: tuple[str, ...]
    again: bool


class MembersCompared(_Value, frozen=True, kw_only=True):
    kind: str
    differing: frozenset[str]
    """To be asked for: unknown here, or with another uid or hash."""
    missing: frozenset[str]
    """Known here and not there."""
    known: int


class EpochActivated(_Value, frozen=True, kw_only=True):
    """The epoch is active now."""


class TasksOffered(_Value, frozen=True, kw_only=True):
    frames: tuple[DownFrame, ...]


class PongReceived(_Value, frozen=True, kw_only=True):
    """Seconds that a ping and its answer took."""

    took: float


class ClockTick(_Value, frozen=True, kw_only=True):
    """Time has passed."""


Input = (
    UpFrame
    | LinkSignal
    | ClockTick
    | PongReceived
    | OpenedLink
    | LinkRefusal
    | StoredBatch
    | RootsCompared
    | MembersCompared
    | EpochActivated
    | TasksOffered
)
