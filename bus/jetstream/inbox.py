"""Inbox: one durable consumer's deliveries, handed to the dispatcher; opened again when silent."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

import nats.errors
import structlog
from nats.aio.msg import Msg

from bus.carrier import CarrierError, Take
from bus.jetstream.connection import Connection
from bus.jetstream.provision import Provisioner
from bus.jetstream.pull import Pull
from bus.topology import ConsumerPlan

log = structlog.get_logger()

_LOOK_SECONDS = 1.0
_SHORT_REPLY = 9
"""`$JS.ACK.{stream}.{consumer}.{delivered}.{sequence}...`; longer with two tokens of a domain before."""


@dataclass(frozen=True, slots=True)
class NatsDelivery:
    message: Msg
    sequence: int
    deliveries: int

    @classmethod
    def of(cls, message: Msg) -> NatsDelivery:
        """Read from the acknowledgement's subject; nats-py's own `metadata` also builds a datetime."""
        tokens = message.reply.split(".")
        place = 4 if len(tokens) == _SHORT_REPLY else 6
        return cls(message, sequence=int(tokens[place + 1]), deliveries=int(tokens[place]))

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


class NatsInbox:
    def __init__(
        self, connection: Connection, provisioner: Provisioner, plan: ConsumerPlan, take: Take
    ) -> None:
        self._connection = connection
        self._provisioner = provisioner
        self._plan = plan
        self._take = take
        self._pull = Pull(
            connection=connection,
            stream=plan.stream,
            consumer=plan.name,
            limit=plan.max_ack_pending,
            on_message=self._on_message,
        )

    async def open(self) -> None:
        await self._provisioner.consumer(self._plan)
        await self._pull.open()
        self._connection.on_back.append(self._pull.renew)

    async def release(self) -> None:
        await self._pull.release()

    async def drain(self) -> None:
        self._connection.on_back.remove(self._pull.renew)
        await self._pull.drain()

    async def supervise(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if self._connection.is_closed:
                raise CarrierError(f"the connection to {self._connection.settings.hosts} is closed")
            if self._pull.silent:
                await self._reopen()

    async def _reopen(self) -> None:
        log.warning("inbox fell silent, opening it again", consumer=self._plan.name)
        try:
            await self._provisioner.streams()
            await self._provisioner.consumer(self._plan)
            await self._pull.open()
        except (CarrierError, nats.errors.Error) as error:
            log.warning("inbox not open yet", consumer=self._plan.name, error=repr(error))

    async def _on_message(self, message: Msg) -> None:
        await self._take(NatsDelivery.of(message))
