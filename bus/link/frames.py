"""Frames of the link: those that the agent sends, and those that the service sends."""

from __future__ import annotations

from bus.link.audit import AuditHead, KeepHead, KeptHeads
from bus.link.items import LinkItem
from bus.link.link_task import LinkTask
from bus.link.wire import Frame, WireValue


class Hello(Frame, frozen=True, kw_only=True):
    """The first frame of a connection. The session token stands in the HTTP request's header."""

    account: str
    agent: str
    instance: str
    """One life of the process."""
    epoch: str
    """One life of the outbox: random, made when its stream is made."""
    protocol: tuple[int, int]
    version: str
    capabilities: tuple[str, ...] = ()
    outbox: int = 0
    """The newest sequence in the outbox."""
    cluster_uid: str = ""
    running: tuple[str, ...] = ()
    """Ids of tasks that are running here."""
    allowed: dict[str, object] = {}
    """The customer's own limits, to be shown: kinds, namespaces, rate, read-only."""
    heads: tuple[AuditHead, ...] = ()
    """Of the service's audit, as this agent keeps them."""


class Items(Frame, frozen=True, kw_only=True):
    items: tuple[LinkItem, ...]


class Root(WireValue, frozen=True, kw_only=True):
    """The hash over all objects of a kind, see digest.py."""

    root: str
    count: int


class Roots(Frame, frozen=True, kw_only=True):
    """Sent each minute and after each connect, when nothing is waiting in the outbox."""

    kinds: dict[str, Root]
    through: int
    """Every item up to this sequence is part of what was hashed."""


class BucketMember(WireValue, frozen=True, kw_only=True):
    subject: str
    uid: str
    hash: str


class HashBucket(Frame, frozen=True, kw_only=True):
    """One of 256 parts of a kind, complete."""

    kind: str
    bucket: int
    members: tuple[BucketMember, ...] = ()
    through: int


class Bodies(Frame, frozen=True, kw_only=True):
    """States that were asked for; objects that are gone come as tombstones."""

    kind: str
    items: tuple[LinkItem, ...]


class Beat(Frame, frozen=True, kw_only=True):
    """A sign of life, either way; `echo` is the last `sent_at` heard from the other side."""

    sent_at: float
    echo: float = 0.0


class Chunk(Frame, frozen=True, kw_only=True):
    """Part of a stream (logs, events): at most 16 KiB, only with credit."""

    task: str
    number: int
    text: str
    dropped: int = 0
    """Lines left out before this chunk."""


class End(Frame, frozen=True, kw_only=True):
    task: str
    reason: str = ""


UpFrame = Hello | Items | Roots | HashBucket | Bodies | Beat | Chunk | End | KeptHeads


class Welcome(Frame, frozen=True, kw_only=True):
    """The answer to Hello."""

    session: str
    fence: int
    """Grows with every connection of this agent: the newest wins."""
    acked: int
    """Of this epoch: where to go on."""
    quarantined: bool = False
    """A new epoch that is not believed yet: it is listened to and shown to nobody."""
    beat_seconds: float = 15.0
    roots_seconds: float = 60.0
    window: int = 512
    """Items that may be sent and not yet acknowledged."""
    server_time: float
    protocol: int = 1


class Ack(Frame, frozen=True, kw_only=True):
    """Stored, with all before it."""

    through: int


class Missing(Frame, frozen=True, kw_only=True):
    """There is a gap: send again everything after this sequence."""

    after: int


class WantBuckets(Frame, frozen=True, kw_only=True):
    kind: str
    buckets: tuple[int, ...]


class WantBodies(Frame, frozen=True, kw_only=True):
    kind: str
    subjects: tuple[str, ...]


class Offer(Frame, frozen=True, kw_only=True):
    task: LinkTask


class Cancel(Frame, frozen=True, kw_only=True):
    id: str


class Credit(Frame, frozen=True, kw_only=True):
    """So many more chunks of a stream may be sent."""

    task: str
    chunks: int


class TerminalInput(Frame, frozen=True, kw_only=True):
    """What somebody types into a task that is a terminal, or its new size; by number from 0.

    `text` has at most 4096 characters. A number that is left out ends the task.
    """

    task: str
    number: int
    text: str = ""
    columns: int = 0
    rows: int = 0


class Fenced(Frame, frozen=True, kw_only=True):
    """The connection is over: another instance took over, or the agent was revoked."""

    reason: str
    retry_after: float = 0.0
    """Seconds; 0: do not come back by yourself."""


DownFrame = (
    Welcome
    | Ack
    | Missing
    | WantBuckets
    | WantBodies
    | Offer
    | Cancel
    | Credit
    | TerminalInput
    | Fenced
    | Beat
    | KeepHead
)
