"""The Bus publishes events, dispatches them by a routing table, and reads facts.

async with Bus.open(BusSettings(url="nats://127.0.0.1:4222", account="acme", agent="prod1")) as bus:
    await bus.provision()
    await bus.publish(RefreshApp(app=key))
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from bus.carrier import Take
from bus.dead_letters import Failures
from bus.dispatch import Dispatch, always
from bus.dispatch_observer import DispatchWatcher, NoDispatchWatcher
from bus.dispatcher import Dispatcher
from bus.envelope import Envelope
from bus.event_sender import EventSender
from bus.events import Event, EventKind
from bus.identity import AppKey
from bus.jetstream.connection import BusSettings, NatsConnection, connected
from bus.jetstream.fact_reader import FactReader, FactSelection, oldest, reading
from bus.jetstream.fact_subscription import FactSubscription, subscribed
from bus.jetstream.key_value import KeyValueBucket, open_bucket
from bus.jetstream.nats_inbox import NatsInbox
from bus.jetstream.nats_publisher import NatsPublisher
from bus.jetstream.outbox import Outbox
from bus.jetstream.provisioner import Provisioner
from bus.jetstream.shard_consumers import ShardConsumers
from bus.jetstream.store_usage import StoreUsage, usage
from bus.route import Route
from bus.subjects import AgentScope, facts_about, filter_of
from bus.topology import ConsumerPlan, StreamName, consumer
from bus.trace import Trace

_BEGINNING = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchOptions:
    concurrency: int = 32
    """Concurrent calls of handlers, all routes together."""
    drain_seconds: float = 20.0
    back_off: float = 1.0
    """Seconds before a failed call is tried again; doubled each time."""
    may_act: Callable[[], bool] = always
    """Whether the process may still publish what its handlers return."""


@dataclass(slots=True, kw_only=True)
class Bus:
    connection: NatsConnection
    publisher: NatsPublisher
    provisioner: Provisioner

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: BusSettings) -> AsyncIterator[Bus]:
        """Connected when entered; raises CarrierUnreachableError."""
        async with connected(settings) as connection:
            publisher = NatsPublisher(connection)
            await publisher.open()
            provisioner = Provisioner(
                connection.jetstream, settings.scope, settings.replicas, settings.sizes
            )
            yield cls(connection=connection, publisher=publisher, provisioner=provisioner)

    @property
    def settings(self) -> BusSettings:
        return self.connection.settings

    @property
    def scope(self) -> AgentScope:
        return self.settings.scope

    @property
    def is_connected(self) -> bool:
        return self.connection.is_connected

    @property
    def ack_wait(self) -> float:
        return self.settings.ack_wait

    async def provision(
        self, routes: Sequence[Route] = (), may_act: Callable[[], bool] = always
    ) -> None:
        """Create or upgrade streams, buckets and the consumers of `routes`; idempotent.

        Consumers of shards are in the way of these, and end only while the process may act.
        """
        await self.provisioner.everything()
        plans = [self._consumer(route) for route in routes]
        if plans:
            await self.shards(may_act).provision_undivided(plans)

    async def publish(
        self,
        *events: Event,
        correlation: str = "",
        trace: Trace | None = None,
        message_id: str = "",
    ) -> tuple[str, ...]:
        """Return the events' ids when the server has stored them; waits out a lost connection.

        With a `message_id` the server drops a repeat of the same call within two minutes.
        """
        sender = self._sender
        span = trace or sender.sampler.span(None)
        messages = [
            sender.first(
                event,
                correlation=correlation,
                trace=span,
                message_id=f"{message_id}:{place}" if message_id else "",
            )
            for place, event in enumerate(events)
        ]
        await self.publisher.publish(messages)
        return tuple(message.headers["ce-id"] for message in messages)

    def dispatcher(
        self,
        routes: Sequence[Route],
        observer: DispatchWatcher | None = None,
        options: DispatchOptions | None = None,
        *,
        divided: bool = False,
    ) -> Dispatcher:
        """Make the dispatcher of all shards; `divided`: of those that it is told to open."""
        chosen = options or DispatchOptions()
        dispatch = Dispatch(
            sender=self._sender,
            publisher=self.publisher,
            observer=observer or NoDispatchWatcher(),
            failures=Failures(chosen.back_off),
            may_act=chosen.may_act,
        )
        return Dispatcher(
            carrier=self,
            routes=routes,
            dispatch=dispatch,
            concurrency=chosen.concurrency,
            drain_seconds=chosen.drain_seconds,
            divided=divided,
        )

    def inbox(self, route: Route, take: Take) -> NatsInbox:
        return NatsInbox(self.connection, self.provisioner, self._consumer(route), take)

    async def shard_inboxes(
        self,
        terms: Mapping[str, int],
        routes: Sequence[Route],
        take: Take,
        may_act: Callable[[], bool] = always,
    ) -> Mapping[str, Mapping[EventKind, NatsInbox]]:
        """Make the inboxes of shards; raises CarrierError."""
        return await self.shards(may_act).inboxes(terms, routes, take)

    def shards(self, may_act: Callable[[], bool]) -> ShardConsumers:
        """Return the consumers of shards, for a process as long as it may act."""
        return ShardConsumers(self.connection, self.provisioner, may_act)

    def facts(
        self, *, since: datetime | None = None, follow: bool = True, app: AppKey | None = None
    ) -> AbstractAsyncContextManager[FactSubscription]:
        """Subscribe: `async with bus.facts() as facts`, `async for envelope, fact in facts`.

        Without `since` the subscription begins now.
        """
        subscription = FactSubscription(
            connection=self.connection,
            stream=StreamName.FACT.name_in(self.scope),
            subject=facts_about(self.scope, app),
            since=since,
            follow=follow,
        )
        return subscribed(subscription)

    def latest_facts(self, *types: type[Event]) -> AbstractAsyncContextManager[FactReader]:
        """Read the last fact of each type about each key, in the order of publishing."""
        selection = FactSelection(
            stream=StreamName.FACT.name_in(self.scope),
            subjects=tuple(filter_of(self.scope, event) for event in types),
            latest=True,
        )
        return reading(self.connection, selection)

    def kept_facts(self, *types: type[Event]) -> AbstractAsyncContextManager[FactReader]:
        """Read every retained fact of these types, in the order of publishing."""
        selection = FactSelection(
            stream=StreamName.FACT.name_in(self.scope),
            subjects=tuple(filter_of(self.scope, event) for event in types),
            since=_BEGINNING,
        )
        return reading(self.connection, selection)

    async def oldest_fact(self) -> Envelope | None:
        """Read the envelope of the oldest retained fact; raises CarrierError."""
        return await oldest(self.connection, StreamName.FACT.name_in(self.scope))

    def fact_inbox(self, name: str, take: Take) -> NatsInbox:
        """Open the inbox of the durable consumer `name`: every fact at least once, oldest first."""
        plan = ConsumerPlan(
            name=name,
            stream=StreamName.FACT.name_in(self.scope),
            subject=facts_about(self.scope),
            ack_wait=self.ack_wait,
            only_new=False,
        )
        return NatsInbox(self.connection, self.provisioner, plan, take)

    def outbox(self) -> Outbox:
        return Outbox(self.connection, self.publisher, self.scope)

    async def usage(self) -> tuple[StoreUsage, ...]:
        """Measure how full each stream and bucket is; raises CarrierError."""
        return await usage(self.connection.jetstream, self.scope, self.settings.sizes)

    async def bucket(self, name: str) -> KeyValueBucket:
        """Open a bucket of the topology, e.g. `results`; raises KeyValueError without it."""
        return await open_bucket(self.connection.jetstream, self.scope.name(name))

    @property
    def _sender(self) -> EventSender:
        return EventSender(self.scope, self.settings.command_key, self.settings.sampler)

    def _consumer(self, route: Route) -> ConsumerPlan:
        return consumer(self.scope, route, ack_wait=self.ack_wait)
