"""Bus: the one way in. Publish events, run a house plan, read facts; NATS stays inside.

async with Bus.open(BusSettings(url="nats://127.0.0.1:4222", account="acme", agent="prod1")) as bus:
    await bus.provision()
    await bus.publish(RefreshApp(app=key))
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from bus.carrier import Take
from bus.dispatch import Dispatch
from bus.dispatcher import Dispatcher
from bus.envelope import Envelope
from bus.events import Event
from bus.failures import Failures
from bus.identity import AppKey
from bus.jetstream.connection import Connection, connected
from bus.jetstream.inbox import NatsInbox
from bus.jetstream.kv import Bucket, open_bucket
from bus.jetstream.outbox import Outbox
from bus.jetstream.provision import Provisioner
from bus.jetstream.publisher import NatsPublisher
from bus.jetstream.settings import BusSettings
from bus.jetstream.subscribe import FactReader, Wanted, oldest, reading
from bus.jetstream.subscription import FactSubscription, subscribed
from bus.jetstream.usage import StoreUsage, usage
from bus.observer import Observer, Unobserved
from bus.route import Route
from bus.sender import Sender
from bus.subjects import Scope, facts_about, filter_of
from bus.topology import ConsumerPlan, Stream, consumer
from bus.trace import Trace

_BEGINNING = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchOptions:
    concurrency: int = 32
    """Rooms at work at once, all routes together."""
    drain_seconds: float = 20.0
    back_off: float = 1.0
    """Seconds before a room that failed is tried again; doubled each time."""


@dataclass(slots=True, kw_only=True)
class Bus:
    connection: Connection
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
    def scope(self) -> Scope:
        return self.settings.scope

    @property
    def is_connected(self) -> bool:
        return self.connection.is_connected

    @property
    def ack_wait(self) -> float:
        return self.settings.ack_wait

    async def provision(self, routes: Sequence[Route] = ()) -> None:
        """Streams, buckets and the consumers of `routes`; as often as one likes."""
        await self.provisioner.everything()
        for route in routes:
            await self.provisioner.consumer(self._consumer(route))

    async def publish(
        self,
        *events: Event,
        correlation: str = "",
        trace: Trace | None = None,
        message_id: str = "",
    ) -> tuple[str, ...]:
        """Returns the events' ids when the server has stored them, through a lost connection too.

        With a `message_id` the server drops a repeat of the same call within two minutes.
        """
        sender, span = self._sender, trace or Trace.start()
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
        observer: Observer | None = None,
        options: DispatchOptions | None = None,
    ) -> Dispatcher:
        chosen = options or DispatchOptions()
        dispatch = Dispatch(
            sender=self._sender,
            publisher=self.publisher,
            observer=observer or Unobserved(),
            failures=Failures(chosen.back_off),
        )
        return Dispatcher(
            carrier=self,
            routes=routes,
            dispatch=dispatch,
            concurrency=chosen.concurrency,
            drain_seconds=chosen.drain_seconds,
        )

    def inbox(self, route: Route, take: Take) -> NatsInbox:
        return NatsInbox(self.connection, self.provisioner, self._consumer(route), take)

    def facts(
        self, *, since: datetime | None = None, follow: bool = True, app: AppKey | None = None
    ) -> AbstractAsyncContextManager[FactSubscription]:
        """`async with bus.facts() as facts`, `async for envelope, fact in facts`; None is now."""
        subscription = FactSubscription(
            connection=self.connection,
            stream=Stream.FACT.name_in(self.scope),
            subject=facts_about(self.scope, app),
            since=since,
            follow=follow,
        )
        return subscribed(subscription)

    def latest_facts(self, *types: type[Event]) -> AbstractAsyncContextManager[FactReader]:
        """The last fact of each of these types about each thing, in the order of their telling."""
        wanted = Wanted(
            stream=Stream.FACT.name_in(self.scope),
            subjects=tuple(filter_of(self.scope, one) for one in types),
            latest=True,
        )
        return reading(self.connection, wanted)

    def kept_facts(self, *types: type[Event]) -> AbstractAsyncContextManager[FactReader]:
        """Every fact of these types that is still kept, in the order of their telling."""
        wanted = Wanted(
            stream=Stream.FACT.name_in(self.scope),
            subjects=tuple(filter_of(self.scope, one) for one in types),
            since=_BEGINNING,
        )
        return reading(self.connection, wanted)

    async def oldest_fact(self) -> Envelope | None:
        """What is known of the oldest fact that is still kept; raises CarrierError."""
        return await oldest(self.connection, Stream.FACT.name_in(self.scope))

    def fact_inbox(self, name: str, take: Take) -> NatsInbox:
        """Every fact from the oldest on, at least once each, for the durable reader `name`."""
        plan = ConsumerPlan(
            name=name,
            stream=Stream.FACT.name_in(self.scope),
            subject=facts_about(self.scope),
            ack_wait=self.ack_wait,
            only_new=False,
        )
        return NatsInbox(self.connection, self.provisioner, plan, take)

    def outbox(self) -> Outbox:
        return Outbox(self.connection, self.publisher, self.scope)

    async def usage(self) -> tuple[StoreUsage, ...]:
        """How full each stream and bucket is; raises CarrierError."""
        return await usage(self.connection.jetstream, self.scope, self.settings.sizes)

    async def bucket(self, name: str) -> Bucket:
        """One of the topology's buckets, e.g. `results`; raises BucketError where it is missing."""
        return await open_bucket(self.connection.jetstream, self.scope.name(name))

    @property
    def _sender(self) -> Sender:
        return Sender(self.scope, self.settings.command_key)

    def _consumer(self, route: Route) -> ConsumerPlan:
        return consumer(self.scope, route, ack_wait=self.ack_wait)
