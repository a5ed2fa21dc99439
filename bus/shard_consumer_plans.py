"""The consumers of one shard, where replicas of an agent divide its work. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bus.events import EventKind
from bus.route import Route
from bus.subjects import AgentScope, shard_filter
from bus.topology import HOUR, ConsumerPlan

SHARD_CONSUMER = "shard-"


SHARD_INBOX_LIMIT = 32
"""Deliveries of one stream and shard that are taken and not settled, at most."""


def shard_consumer_name(shard: str, term: int) -> str:
    """Name the consumers of a shard: each holder has its own, so that none takes from another's."""
    return f"{SHARD_CONSUMER}{shard}-{term}"


def shard_consumers(
    scope: AgentScope, routes: Sequence[Route], shard: str, term: int, *, ack_wait: float
) -> tuple[ConsumerPlan, ...]:
    """Plan one consumer a stream for the events of all routes in one shard."""
    kinds = dict.fromkeys(route.event.kind for route in routes)
    return tuple(
        ConsumerPlan(
            name=shard_consumer_name(shard, term),
            stream=scope.name(kind.upper()),
            subjects=tuple(
                shard_filter(scope, route.event, shard)
                for route in routes
                if route.event.kind is kind
            ),
            ack_wait=ack_wait,
            only_new=kind == EventKind.FACT,
            unused_for=HOUR if kind == EventKind.FACT else 0.0,
        )
        for kind in kinds
    )
