"""The topology lists the streams, consumers and buckets of one agent. Pure.

Several agents may share one NATS, so every name holds account and agent. Retention follows the use:
work is deleted when handled, facts stay for subscribers, dead letters wait for a person.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from bus.envelope import MAX_EVENT_BYTES
from bus.events import EventKind
from bus.route import Route
from bus.subjects import AgentScope, Branch, escape, filter_of

HOUR = 3600.0
DAY = 24 * HOUR
DUPLICATE_WINDOW = 120.0
MAX_REPORT_BYTES = 256 * 1024
"""A report is the state of an object, not a reason to look: larger than any event."""
_HEADERS_BYTES = 8 * 1024
_MIB = 1024 * 1024
REPORT_READER = "report"
"""The bridge's durable consumer of all facts."""


class StreamName(StrEnum):
    """The last word of a stream's name."""

    ASK = "ASK"
    COMMAND = "CMD"
    FACT = "FACT"
    UP = "UP"
    DEAD = "DEAD"

    def name_in(self, scope: AgentScope) -> str:
        return scope.name(self)


WORK_QUEUES = (StreamName.ASK, StreamName.COMMAND)
"""Streams of which two consumers may have no subject in common."""


class BucketName(StrEnum):
    """The last word of a bucket's name."""

    RESULTS = "results"
    LINK = "link"
    SEEN = "seen"


class StreamRetention(StrEnum):
    WORK_QUEUE = "workqueue"
    """A message is gone when it was handled."""
    LIMITS = "limits"
    """A message stays until it is old, whoever has read it."""


class StreamPlan(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    subjects: tuple[str, ...]
    retention: StreamRetention
    max_age: float = 0.0
    """Seconds; 0 is for ever."""
    max_bytes: int
    """NATS reserves this much of its disk; see Sizes."""
    refuse_when_full: bool = False
    """Refuse new messages when full; otherwise the oldest message is dropped."""
    max_message_bytes: int = MAX_EVENT_BYTES + _HEADERS_BYTES
    latest_only: bool = False
    """One message a subject: a newer one replaces the one that waits."""
    direct: bool = False
    """Read by sequence, without a consumer."""
    description: str = ""

    @property
    def loses_work_when_full(self) -> bool:
        """The others keep history: their oldest entry is meant to give way."""
        return self.refuse_when_full or self.retention is StreamRetention.WORK_QUEUE


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of each stream and bucket; NATS reserves them all on its disk: 512 MiB by default.

    No store is without a size: it would take the space that is reserved for the others.
    """

    asks: int = 64 * _MIB
    commands: int = 32 * _MIB
    facts: int = 224 * _MIB
    reports: int = 128 * _MIB
    dead_letters: int = 32 * _MIB
    results: int = 24 * _MIB
    link: int = 1 * _MIB
    seen: int = 7 * _MIB


SIZES = Sizes()


class ConsumerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A durable pull consumer. Deliveries are unlimited: the dispatcher decides what is dead."""

    name: str
    stream: str
    subject: str = ""
    subjects: tuple[str, ...] = ()
    """Several, in the place of one."""
    ack_wait: float
    max_ack_pending: int = 10_000
    """Deliveries not settled, those that wait for a `Retry` included: a few hundred sources that
    cannot be reached must not keep the others waiting. What a process takes is bounded elsewhere.
    """
    only_new: bool
    """Whether a new consumer skips the messages that were stored before it."""
    begins: int = 0
    """The sequence at which a new consumer begins; 0: as `only_new` says."""
    unused_for: float = 0.0
    """Seconds after which the server deletes the consumer if nobody asks it; 0 is never."""


class BucketPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Keys that outlive a process; a full bucket drops its oldest key."""

    name: str
    ttl: float
    max_bytes: int
    max_value_bytes: int = MAX_REPORT_BYTES
    description: str = ""


def streams(scope: AgentScope, sizes: Sizes = SIZES) -> tuple[StreamPlan, ...]:
    return (
        StreamPlan(
            name=StreamName.ASK.name_in(scope),
            subjects=_all(scope, Branch.ASK),
            retention=StreamRetention.WORK_QUEUE,
            latest_only=True,
            max_bytes=sizes.asks,
            description="reasons to look again, one waiting per subject",
        ),
        StreamPlan(
            name=StreamName.COMMAND.name_in(scope),
            subjects=_all(scope, Branch.COMMAND),
            retention=StreamRetention.WORK_QUEUE,
            max_bytes=sizes.commands,
            refuse_when_full=True,
            description="commands of people and of the service",
        ),
        StreamPlan(
            name=StreamName.FACT.name_in(scope),
            subjects=_all(scope, Branch.FACT),
            retention=StreamRetention.LIMITS,
            max_age=72 * HOUR,
            max_bytes=sizes.facts,
            direct=True,
            description="what happened; see docs/events.md",
        ),
        StreamPlan(
            name=StreamName.UP.name_in(scope),
            subjects=_all(scope, Branch.UP),
            retention=StreamRetention.LIMITS,
            latest_only=True,
            max_bytes=sizes.reports,
            max_message_bytes=MAX_REPORT_BYTES + _HEADERS_BYTES,
            refuse_when_full=True,
            direct=True,
            description="reports until the service has acknowledged them",
        ),
        StreamPlan(
            name=StreamName.DEAD.name_in(scope),
            subjects=_all(scope, Branch.DEAD),
            retention=StreamRetention.LIMITS,
            max_age=14 * DAY,
            max_bytes=sizes.dead_letters,
            max_message_bytes=64 * 1024,
            description="messages that no handler could process, with the reason",
        ),
    )


def buckets(scope: AgentScope, sizes: Sizes = SIZES) -> tuple[BucketPlan, ...]:
    return (
        BucketPlan(
            name=scope.name(BucketName.RESULTS),
            ttl=7 * DAY,
            max_bytes=sizes.results,
            description="results of tasks that change something",
        ),
        BucketPlan(
            name=scope.name(BucketName.LINK),
            ttl=0,
            max_bytes=sizes.link,
            description="the position up to which the outbox was emptied",
        ),
        BucketPlan(
            name=scope.name(BucketName.SEEN),
            ttl=DAY,
            max_bytes=sizes.seen,
            description="ids of deliveries seen",
        ),
    )


def bucket_stream(bucket: str) -> str:
    """The stream in which NATS keeps a bucket."""
    return f"KV_{bucket}"


def stream_names(scope: AgentScope) -> tuple[str, ...]:
    """Every stream of the agent, those of its buckets included."""
    named = (stream.name_in(scope) for stream in StreamName)
    return (*named, *(bucket_stream(scope.name(bucket)) for bucket in BucketName))


def consumer(scope: AgentScope, route: Route, *, ack_wait: float) -> ConsumerPlan:
    return ConsumerPlan(
        name=escape(route.name),
        stream=scope.name(route.event.kind.upper()),
        subject=filter_of(scope, route.event),
        ack_wait=ack_wait,
        only_new=route.event.kind == EventKind.FACT,
    )


def _all(scope: AgentScope, branch: Branch) -> tuple[str, ...]:
    return (f"{scope.prefix}.{branch}.>",)
