"""The carrier is the port between dispatch and the message broker; `bus/jetstream` implements it.

Nothing in the port knows NATS: a delivery can be settled once, an inbox hands over deliveries as
long as it has credit, a publisher returns when its messages are stored.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from bus.envelope import Message
from bus.events import Event, EventKind
from bus.route import Route
from bus.trace import Trace


class CarrierError(Exception):
    """The carrier did not answer in time; the work is delivered again automatically."""


class RefusedError(CarrierError):
    """The carrier will never take this message: trying again is useless."""


class Delivery(Protocol):
    """One message, handed over at least once; settled by `ack` or `nak`.

    Settling never raises: where an `ack` gets lost, the message comes again, which is always
    allowed.
    """

    @property
    def subject(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def data(self) -> bytes: ...
    @property
    def sequence(self) -> int: ...
    @property
    def deliveries(self) -> int: ...

    async def ack(self) -> None: ...
    async def nak(self, delay: float) -> None: ...
    async def in_progress(self) -> None: ...


Take = Callable[[Delivery], Awaitable[None]]


class Publisher(Protocol):
    async def publish(self, messages: Sequence[Message]) -> None:
        """Returns when every message is stored; raises CarrierError."""


class EventPublisher(Protocol):
    """`Bus.publish`, for a component that begins chains of events and needs nothing else."""

    async def __call__(
        self, *events: Event, message_id: str = "", trace: Trace | None = None
    ) -> object:
        """Returns when every event is stored; raises CarrierError.

        The server drops a repeat with the same `message_id`; the events become children of `trace`.
        """


class Inbox(Protocol):
    """Deliveries of one route: at most `limit` that are not yet released."""

    async def open(self) -> None: ...

    async def release(self) -> None:
        """Return the credit of one delivery, which was settled."""

    async def drain(self) -> None:
        """Take no more deliveries; those that were handed over are still handled."""

    async def close(self) -> None:
        """Take no more deliveries, without waiting; never raises, and may follow `drain`."""

    async def supervise(self) -> None:
        """Watch for ever whether the inbox has fallen silent, and open it again."""


class Carrier(Protocol):
    @property
    def is_connected(self) -> bool: ...

    @property
    def ack_wait(self) -> float:
        """Seconds without a sign of life after which a delivery is made again."""

    @property
    def publisher(self) -> Publisher: ...

    def inbox(self, route: Route, take: Take) -> Inbox: ...

    async def shard_inboxes(
        self,
        terms: Mapping[str, int],
        routes: Sequence[Route],
        take: Take,
        may_act: Callable[[], bool],
    ) -> Mapping[str, Mapping[EventKind, Inbox]]:
        """Make the inboxes of shards, by shard and kind of event: the events of all routes there.

        Each shard has a term, a number that no other holder of it has had. What earlier holders
        took and did not settle is delivered here, and nothing more to them: so a process that
        may not act any more gets a CarrierError.
        """
