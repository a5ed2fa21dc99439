"""FactReader reads retained facts of an agent: those of some types, or the last of each subject.

Each reader has a consumer in the server's memory, which ends soon after its reader. A lost consumer
is made again behind the last fact that was read: no fact is missed, and none comes twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import nats.errors
import nats.js.errors
import structlog
from nats.aio.msg import Msg
from nats.js import api

from bus.carrier import CarrierError
from bus.envelope import DecodeError, Envelope, EnvelopeError, decode
from bus.events import Event
from bus.jetstream.connection import NatsConnection
from bus.jetstream.direct_reads import DirectReadError, read_direct
from bus.jetstream.pull import NatsDelivery, Pull

log = structlog.get_logger()

_LOOK_SECONDS = 1.0
_INACTIVE_SECONDS = 60.0
_AHEAD = 512


class FactsError(CarrierError):
    """The facts cannot be read: no stream, or no right to read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSelection:
    stream: str
    subjects: tuple[str, ...]
    since: datetime | None = None
    latest: bool = False
    """Read only the last fact of each subject."""
    after: int = 0
    """The last sequence read, once there is one."""

    def consumer(self) -> api.ConsumerConfig:
        start: dict[str, Any] = {"deliver_policy": api.DeliverPolicy.NEW}
        if self.after:
            start["deliver_policy"] = api.DeliverPolicy.BY_START_SEQUENCE
            start["opt_start_seq"] = self.after + 1
        elif self.since is not None:
            start["deliver_policy"] = api.DeliverPolicy.BY_START_TIME
            start["opt_start_time"] = self.since
        elif self.latest:
            start["deliver_policy"] = api.DeliverPolicy.LAST_PER_SUBJECT
        return api.ConsumerConfig(
            ack_policy=api.AckPolicy.NONE,
            filter_subjects=list(self.subjects),
            inactive_threshold=_INACTIVE_SECONDS,
            mem_storage=True,
            num_replicas=1,
            **start,
        )


@dataclass(slots=True)
class FactReader:
    """`async for envelope, fact in reader`; facts of an unknown type are left out."""

    connection: NatsConnection
    selection: FactSelection
    _queue: asyncio.Queue[NatsDelivery] = field(default_factory=asyncio.Queue)
    _pull: Pull | None = None
    _over: bool = False

    def __aiter__(self) -> FactReader:
        return self

    async def __anext__(self) -> tuple[Envelope, Event]:
        while not self._over:
            delivery = await self._next()
            if delivery is None:
                continue
            self._over = delivery.pending == 0
            try:
                return decode(delivery.headers, delivery.data)
            except DecodeError as error:
                log.debug("fact left out", subject=delivery.subject, reason=str(error))
        raise StopAsyncIteration

    async def open(self) -> None:
        try:
            found = await self.connection.jetstream.add_consumer(
                self.selection.stream, self.selection.consumer()
            )
        except nats.errors.Error as error:
            raise FactsError(
                f"facts of {self.selection.stream} cannot be read: {error!r}"
            ) from error
        self._over = not found.num_pending
        self._pull = Pull(
            connection=self.connection,
            stream=self.selection.stream,
            consumer=found.name,
            limit=_AHEAD,
            on_message=self._on_message,
        )
        await self._pull.open()
        self.connection.on_back.append(self._pull.renew)

    async def close(self) -> None:
        pull, self._pull = self._pull, None
        if pull is not None:
            self.connection.forget(pull.renew)
            await pull.close()

    async def _next(self) -> NatsDelivery | None:
        """Return the next new fact, or None after a check of the consumer."""
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                delivery = await self._queue.get()
        except TimeoutError:
            await self._check_consumer()
            return None
        if self._pull is not None:
            await self._pull.release()
        # A consumer that was made again may repeat what the queue still held.
        if delivery.sequence <= self.selection.after:
            return None
        self.selection = replace(self.selection, after=delivery.sequence)
        return delivery

    async def _check_consumer(self) -> None:
        if self._pull is None or not self._pull.silent:
            return
        await self.close()
        try:
            await self.open()
        except FactsError as error:
            log.warning("facts cannot be read yet", reason=str(error))

    async def _on_message(self, message: Msg) -> None:
        self._queue.put_nowait(NatsDelivery.of(message))


@asynccontextmanager
async def reading(
    connection: NatsConnection, selection: FactSelection
) -> AsyncIterator[FactReader]:
    reader = FactReader(connection, selection)
    await reader.open()
    try:
        yield reader
    finally:
        await reader.close()


async def oldest(connection: NatsConnection, stream: str) -> Envelope | None:
    """Read the envelope of the first message of `stream`; None where no message is readable."""
    try:
        state = (await connection.jetstream.stream_info(stream)).state
        if not state.messages:
            return None
        found = await read_direct(connection, stream, {"seq": state.first_seq}, limit=1)
        return Envelope.from_headers(found[0].headers or {}) if found else None
    except (nats.js.errors.NotFoundError, EnvelopeError):
        return None
    except DirectReadError as error:
        raise FactsError(str(error)) from error
    except nats.errors.Error as error:
        raise FactsError(f"facts of {stream} cannot be read: {error!r}") from error
