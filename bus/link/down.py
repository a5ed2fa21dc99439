"""Frames from the service to the agent."""

from __future__ import annotations

from bus.link.audit import KeepHead
from bus.link.tasks import Task
from bus.link.up import Beat
from bus.link.wire import Frame


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
    task: Task


class Cancel(Frame, frozen=True, kw_only=True):
    id: str


class Credit(Frame, frozen=True, kw_only=True):
    """So many more chunks of a stream may be sent."""

    task: str
    chunks: int


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
    | Fenced
    | Beat
    | KeepHead
)
