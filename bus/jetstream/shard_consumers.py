"""ShardConsumers makes the consumers of one holder of shards, and unmakes those of earlier ones.

A consumer of a shard belongs to one holder: its name has the holder's term. Who takes a shard over
deletes the consumers of all terms before, which ends the pending requests of a former holder, and
what was delivered to it and not settled is delivered again at once instead of after `ack_wait`. A
former holder that comes back and asks for its consumer again is refused, because two consumers of a
work queue may not have a subject in common. Nor does it end the consumer of its successor when it
goes on in the middle of taking over: who has been silent for too long deletes nothing.

For the same reason there are consumers of routes or of shards, never both: who provisions the one
kind deletes the other. Facts are no work queue: consumers of former holders harm nobody there, may
not be deleted by this login, and end when nobody has asked them for an hour. Facts are read on from
where the former holder had settled them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import structlog

from bus.carrier import CarrierError, Take
from bus.events import EventKind
from bus.jetstream.connection import NatsConnection
from bus.jetstream.nats_inbox import NatsInbox
from bus.jetstream.provisioner import Provisioner, TopologyConflictError
from bus.jetstream.pull import SHARD_TIMES
from bus.route import Route
from bus.shard_consumer_plans import (
    SHARD_CONSUMER,
    SHARD_INBOX_LIMIT,
    shard_consumer_name,
    shard_consumers,
)
from bus.subjects import escape
from bus.topology import WORK_QUEUES, ConsumerPlan

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ShardConsumers:
    connection: NatsConnection
    provisioner: Provisioner
    may_act: Callable[[], bool]
    """Asked right before a consumer is deleted: it may be that of a later holder."""

    async def inboxes(
        self, terms: Mapping[str, int], routes: Sequence[Route], take: Take
    ) -> Mapping[str, Mapping[EventKind, NatsInbox]]:
        """Make the inboxes of shards, and end the consumers of all others; raises CarrierError."""
        settings = self.connection.settings
        kinds = tuple(dict.fromkeys(route.event.kind for route in routes))
        settled = {
            kind: await self._replace(settings.scope.name(kind.upper()), terms, routes)
            for kind in kinds
        }
        return {
            shard: {
                kind: NatsInbox(
                    self.connection,
                    self.provisioner,
                    _continued(plan, settled[kind].get(shard, 0)),
                    take,
                    limit=SHARD_INBOX_LIMIT,
                    times=SHARD_TIMES,
                )
                for kind, plan in zip(
                    kinds,
                    shard_consumers(
                        settings.scope, routes, shard, term, ack_wait=settings.ack_wait
                    ),
                    strict=True,
                )
            }
            for shard, term in terms.items()
        }

    async def provision_undivided(self, plans: Sequence[ConsumerPlan]) -> None:
        """Provision the consumers of routes; those of shards are in their way, and are deleted."""
        try:
            await self._provision(plans)
        except TopologyConflictError:
            if not await self._drop_shards():
                raise
            await self._provision(plans)

    async def _provision(self, plans: Sequence[ConsumerPlan]) -> None:
        for plan in plans:
            await self.provisioner.consumer(plan)

    async def _drop_shards(self) -> int:
        dropped = 0
        for stream in self._work_queues():
            for found in await self.provisioner.consumers(stream):
                if found.name.startswith(SHARD_CONSUMER):
                    await self._drop(stream, found.name)
                    dropped += 1
        log.info("shards are not divided any more", consumers=dropped)
        return dropped

    async def _replace(
        self, stream: str, terms: Mapping[str, int], routes: Sequence[Route]
    ) -> Mapping[str, int]:
        """Delete the consumers of routes and of former holders; return what these had settled."""
        of_routes = {escape(route.name) for route in routes}
        kept = {shard_consumer_name(shard, term) for shard, term in terms.items()}
        settled: dict[str, int] = {}
        for found in await self.provisioner.consumers(stream):
            shard = _shard_of_consumer(found.name)
            former = shard in terms and found.name not in kept
            if former:
                settled[shard] = max(settled.get(shard, 0), found.settled)
            if stream in self._work_queues() and (former or found.name in of_routes):
                await self._drop(stream, found.name)
        return settled

    async def _drop(self, stream: str, name: str) -> None:
        if not self.may_act():
            raise CarrierError(
                f"consumer {name} of stream {stream} stays: this process has not renewed its place "
                "in the Lease in time, so the consumer may be that of whoever acts in its stead"
            )
        await self.provisioner.drop_consumer(stream, name)

    def _work_queues(self) -> tuple[str, ...]:
        return tuple(stream.name_in(self.connection.settings.scope) for stream in WORK_QUEUES)


def _shard_of_consumer(name: str) -> str:
    """The shard that a consumer is for; empty where it is for none."""
    shard, dash, _term = name.removeprefix(SHARD_CONSUMER).partition("-")
    return shard if dash and name.startswith(SHARD_CONSUMER) else ""


def _continued(plan: ConsumerPlan, settled: int) -> ConsumerPlan:
    """Begin to read facts where the former holder has ended; a work queue holds what is left."""
    if not (plan.only_new and settled):
        return plan
    return msgspec.structs.replace(plan, begins=settled + 1)
