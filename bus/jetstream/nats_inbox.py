"""NatsInbox hands a durable consumer's deliveries to the dispatcher; it reopens a silent one."""

from __future__ import annotations

import asyncio

import nats.errors
import structlog
from nats.aio.msg import Msg

from bus.carrier import CarrierError, Take
from bus.jetstream.connection import NatsConnection
from bus.jetstream.provisioner import Provisioner
from bus.jetstream.pull import TIMES, NatsDelivery, Pull, PullTimes
from bus.topology import ConsumerPlan

log = structlog.get_logger()


class NatsInbox:
    def __init__(
        self,
        connection: NatsConnection,
        provisioner: Provisioner,
        plan: ConsumerPlan,
        take: Take,
        *,
        limit: int = 0,
        times: PullTimes = TIMES,
    ) -> None:
        """`limit`: the most deliveries that are not settled; 0: that of the settings."""
        self._connection = connection
        self._provisioner = provisioner
        self._plan = plan
        self._take = take
        self._look_every = times.look
        self._pull = Pull(
            connection=connection,
            stream=plan.stream,
            consumer=plan.name,
            limit=limit or connection.settings.inbox_limit,
            on_message=self._on_message,
            times=times,
        )

    async def open(self) -> None:
        await self._provisioner.consumer(self._plan)
        await self._pull.open()
        self._connection.on_back.append(self._pull.renew)

    async def release(self) -> None:
        await self._pull.release()

    async def drain(self) -> None:
        self._connection.forget(self._pull.renew)
        await self._pull.drain()

    async def close(self) -> None:
        self._connection.forget(self._pull.renew)
        await self._pull.close()

    async def supervise(self) -> None:
        while True:
            await asyncio.sleep(self._look_every)
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
