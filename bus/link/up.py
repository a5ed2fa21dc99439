"""Frames from the agent to the service."""

from __future__ import annotations

from bus.link.audit import AuditHead, KeptHeads
from bus.link.items import Item
from bus.link.wire import Frame, Value


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
    items: tuple[Item, ...]


class Root(Value, frozen=True, kw_only=True):
    """The hash over all objects of a kind, see digest.py."""

    root: str
    count: int


class Roots(Frame, frozen=True, kw_only=True):
    """Sent each minute and after each connect, when nothing is waiting in the outbox."""

    kinds: dict[str, Root]
    through: int
    """Every item up to this sequence is part of what was hashed."""


class Member(Value, frozen=True, kw_only=True):
    subject: str
    uid: str
    hash: str


class Bucket(Frame, frozen=True, kw_only=True):
    """One of 256 parts of a kind, complete."""

    kind: str
    bucket: int
    members: tuple[Member, ...] = ()
    through: int


class Bodies(Frame, frozen=True, kw_only=True):
    """States that were asked for; objects that are gone come as tombstones."""

    kind: str
    items: tuple[Item, ...]


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


UpFrame = Hello | Items | Roots | Bucket | Bodies | Beat | Chunk | End | KeptHeads
