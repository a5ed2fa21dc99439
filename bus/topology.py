"""Topology: the streams, consumers and buckets of one agent, as data. Pure.

Several agents may share one NATS, so every name holds account and agent. Retention says what a
message is for: work is gone when done, facts stay for subscribers, dead letters wait for a person.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from bus.codec import MAX_EVENT_BYTES
from bus.events import Kind
from bus.route import Route
from bus.subjects import Branch, Scope, escape, filter_of

HOUR = 3600.0
DAY = 24 * HOUR
DUPLICATE_WINDOW = 120.0
MAX_REPORT_BYTES = 256 * 1024
"""A report is the state of an object, not a reason to look: larger than any event."""
_HEADERS_BYTES = 8 * 1024
_MIB = 1024 * 1024


class Retention(StrEnum):
    WORK_QUEUE = "workqueue"
    """A message is gone when it was handled."""
    LIMITS = "limits"
    """A message stays until it is old, whoever has read it."""


class StreamPlan(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    subjects: tuple[str, ...]
    retention: Retention
    max_age: float = 0.0
    """Seconds; 0 is for ever."""
    max_bytes: int
    """NATS reserves this much of its disk; see Sizes."""
    refuse_when_full: bool = False
    """A publisher hears that there is no room; else the oldest message makes room."""
    max_message_bytes: int = MAX_EVENT_BYTES + _HEADERS_BYTES
    latest_only: bool = False
    """One message a subject: a newer one replaces the one that waits."""
    direct: bool = False
    """Read by sequence, without a consumer."""
    description: str = ""


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of each stream; NATS reserves them all on its disk, so 512 MiB an agent by default."""

    asks: int = 64 * _MIB
    commands: int = 32 * _MIB
    facts: int = 256 * _MIB
    reports: int = 128 * _MIB
    dead_letters: int = 32 * _MIB


SIZES = Sizes()


class ConsumerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A durable pull consumer. Deliveries are unlimited: the dispatcher decides what is dead."""

    name: str
    stream: str
    subject: str
    ack_wait: float
    max_ack_pending: int = 10_000
    """Deliveries not settled, those that wait for a `Retry` included: a few hundred sources that
    cannot be reached must not keep the others waiting. What a process takes is bounded elsewhere.
    """
    only_new: bool
    """A room that is new in the house does not hear of what was before it."""


class BucketPlan(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    ttl: float
    description: str = ""


def streams(scope: Scope, sizes: Sizes = SIZES) -> tuple[StreamPlan, ...]:
    return (
        StreamPlan(
            name=scope.name("ASK"),
            subjects=_all(scope, Branch.ASK),
            retention=Retention.WORK_QUEUE,
            latest_only=True,
            max_bytes=sizes.asks,
            description="reasons to look again, one waiting per subject",
        ),
        StreamPlan(
            name=scope.name("CMD"),
            subjects=_all(scope, Branch.COMMAND),
            retention=Retention.WORK_QUEUE,
            max_bytes=sizes.commands,
            refuse_when_full=True,
            description="what people and the service want done",
        ),
        StreamPlan(
            name=scope.name("FACT"),
            subjects=_all(scope, Branch.FACT),
            retention=Retention.LIMITS,
            max_age=72 * HOUR,
            max_bytes=sizes.facts,
            description="what happened; see docs/events.md",
        ),
        StreamPlan(
            name=scope.name("UP"),
            subjects=_all(scope, Branch.UP),
            retention=Retention.LIMITS,
            latest_only=True,
            max_bytes=sizes.reports,
            max_message_bytes=MAX_REPORT_BYTES + _HEADERS_BYTES,
            refuse_when_full=True,
            direct=True,
            description="reports until the service has acknowledged them",
        ),
        StreamPlan(
            name=scope.name("DEAD"),
            subjects=_all(scope, Branch.DEAD),
            retention=Retention.LIMITS,
            max_age=14 * DAY,
            max_bytes=sizes.dead_letters,
            max_message_bytes=64 * 1024,
            description="messages that nobody could handle, with the reason",
        ),
    )


def buckets(scope: Scope) -> tuple[BucketPlan, ...]:
    return (
        BucketPlan(name=scope.name("results"), ttl=7 * DAY, description="results of commands"),
        BucketPlan(name=scope.name("link"), ttl=0, description="how far the outbox was emptied"),
        BucketPlan(name=scope.name("seen"), ttl=DAY, description="ids of deliveries seen"),
    )


def consumer(scope: Scope, route: Route, *, ack_wait: float) -> ConsumerPlan:
    return ConsumerPlan(
        name=escape(route.name),
        stream=scope.name(route.event.kind.upper()),
        subject=filter_of(scope, route.event),
        ack_wait=ack_wait,
        only_new=route.event.kind == Kind.FACT,
    )


def _all(scope: Scope, branch: Branch) -> tuple[str, ...]:
    return (f"{scope.prefix}.{branch}.>",)
