"""NatsDelivery: a JetStream message as the dispatcher sees it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

import nats.errors
from nats.aio.msg import Msg

_SHORT_REPLY = 9


@dataclass(frozen=True, slots=True)
class NatsDelivery:
    message: Msg
    sequence: int
    deliveries: int
    pending: int
    """How many messages the consumer had still to deliver after this one."""

    @classmethod
    def of(cls, message: Msg) -> NatsDelivery:
        """Read from the subject that acknowledges it.

        `$JS.ACK.{stream}.{consumer}.{delivered}.{sequence}.{consumer's}.{time}.{pending}`, with two
        tokens of a domain before the stream in the longer form. nats-py's `metadata` reads the same
        and builds a datetime too, which is dear on this path.
        """
        tokens = message.reply.split(".")
        first = 4 if len(tokens) == _SHORT_REPLY else 6
        delivered, sequence, _, _, pending = map(int, tokens[first : first + 5])
        return cls(message, sequence, delivered, pending)

    @property
    def subject(self) -> str:
        return self.message.subject

    @property
    def headers(self) -> Mapping[str, str]:
        return self.message.headers or {}

    @property
    def data(self) -> bytes:
        return self.message.data

    async def ack(self) -> None:
        with contextlib.suppress(nats.errors.Error):
            await self.message.ack()

    async def nak(self, delay: float) -> None:
        with contextlib.suppress(nats.errors.Error):
            await self.message.nak(delay)

    async def in_progress(self) -> None:
        with contextlib.suppress(nats.errors.Error):
            await self.message.in_progress()
