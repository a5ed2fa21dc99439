"""The port between dispatch and whatever carries messages; `bus/jetstream` is the one that does.

Nothing here knows NATS: a delivery can be settled once, an inbox hands over deliveries as long as
it has credit, a publisher returns when what it was given is stored.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from bus.codec import Message
from bus.route import Route


class CarrierError(Exception):
    """The carrier did not do its part in time; the work is delivered again by itself."""


class RefusedError(CarrierError):
    """The carrier will never take this message: trying again is of no use."""


class Delivery(Protocol):
    """One message, handed over at least once; settled by `ack` or `nak`.

    Settling never raises: where it gets lost, the message comes again, and that is always allowed.
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


class Inbox(Protocol):
    """Deliveries of one route: at most `limit` that are not yet released."""

    async def open(self) -> None: ...

    async def release(self) -> None:
        """One delivery is settled: its place may be filled again."""

    async def drain(self) -> None:
        """Take no more; what was handed over stays to be handled."""

    async def close(self) -> None:
        """Take no more and wait for nothing; never raises, and may follow `drain`."""

    async def supervise(self) -> None:
        """For ever: notice that the inbox has fallen silent, and open it again."""


class Carrier(Protocol):
    @property
    def is_connected(self) -> bool: ...

    @property
    def ack_wait(self) -> float:
        """Seconds without a sign of life after which a delivery is made again."""

    @property
    def publisher(self) -> Publisher: ...

    def inbox(self, route: Route, take: Take) -> Inbox: ...
