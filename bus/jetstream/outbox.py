"""Outbox: reports in the order in which they were made, until the far end has acknowledged them.

The stream `UP` keeps one message a subject, so a newer state of an object replaces the one that
waits, and a fact, whose subject is its own id, never does. It is read by sequence, without a
consumer: what is read again is read the same. Its *epoch* is a random name that is written into
the stream when it is first opened; a stream that was lost and made again has another one.

It never fills up: before that, states are thrown out (they are found again by comparing hashes),
then the oldest facts; what was thrown out is counted.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import nats.errors
import nats.js.errors
import structlog
from nats.js import api

from bus.carrier import CarrierError
from bus.codec import MESSAGE_ID, Message
from bus.ids import new_id
from bus.jetstream.connection import Connection
from bus.jetstream.direct import DirectReadError, read_direct, sequence_of
from bus.jetstream.publisher import NatsPublisher
from bus.subjects import Branch, Scope, Subject
from bus.topology import Stream

log = structlog.get_logger()

EPOCH = "gitops.epoch"
_READ_SECONDS = 5.0
_FULL = 0.9
"""Part of the stream's limit at which something is thrown out, and down to which part."""
_EASED = 0.7
_LOOKED_AFTER = 1 / 16


class OutboxError(CarrierError):
    """The outbox cannot be read or changed now."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """`branch` is `state`, `fact` or `task`; of equal names only the newest is kept."""

    branch: str
    name: str
    data: bytes
    message_id: str = ""
    """A repeat within two minutes is dropped; empty: every entry counts."""


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    sequence: int
    data: bytes


class _Purged(msgspec.Struct, frozen=True, kw_only=True):
    """The server's answer."""

    success: bool = False
    purged: int = 0
    error: Any = None


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    epoch: str
    first: int
    newest: int
    bytes: int


@dataclass(slots=True)
class Outbox:
    connection: Connection
    publisher: NatsPublisher
    scope: Scope
    evicted_states: int = 0
    evicted_facts: int = 0
    """Counted since the process began; whoever tells it says how many that were."""
    _unlooked: int = 0
    _limit: int = field(default=0)

    async def standing(self) -> Standing:
        """How it stands now; gives a stream that was just made its epoch."""
        try:
            info = await self.connection.jetstream.stream_info(self._name)
            epoch = (info.config.metadata or {}).get(EPOCH) or await self._born(info.config)
        except (nats.errors.Error, OSError) as error:
            raise OutboxError(f"stream {self._name} does not answer: {error!r}") from error
        self._limit = info.config.max_bytes or 0
        state = info.state
        return Standing(
            epoch=epoch, first=state.first_seq, newest=state.last_seq, bytes=state.bytes
        )

    async def renew(self) -> None:
        """Another epoch for the same stream: what the far end knows of it cannot be true."""
        try:
            info = await self.connection.jetstream.stream_info(self._name)
            await self._born(info.config)
        except (nats.errors.Error, OSError) as error:
            raise OutboxError(f"stream {self._name} does not answer: {error!r}") from error

    async def append(self, *entries: Entry) -> None:
        """Returns when all are stored; makes room first where it gets tight."""
        self._unlooked += sum(len(entry.data) for entry in entries)
        if self._unlooked > self._limit * _LOOKED_AFTER:
            await self.ease()
        await self.publisher.publish([self._message(entry) for entry in entries])

    async def read(self, after: int, *, limit: int, max_bytes: int) -> Sequence[Stored]:
        """What stands after a sequence, in order; empty at the end."""
        request = {"seq": after + 1, "max_bytes": max_bytes}
        try:
            found = await read_direct(self.connection, self._name, request, limit=limit)
        except DirectReadError as error:
            raise OutboxError(str(error)) from error
        return [Stored(sequence=sequence_of(message), data=message.data) for message in found]

    async def forget(self, through: int) -> None:
        """It was acknowledged up to here."""
        try:
            await self.connection.jetstream.purge_stream(self._name, seq=through + 1)
        except (nats.errors.Error, OSError) as error:
            raise OutboxError(f"stream {self._name} cannot be purged: {error!r}") from error

    async def ease(self) -> None:
        """Throw out states, then the oldest of the rest, where the stream is nearly full."""
        standing = await self.standing()
        self._unlooked = 0
        if standing.bytes < self._limit * _FULL:
            return
        states = await self._purge(filter=f"{self.scope.prefix}.{Branch.UP}.state.>")
        self.evicted_states += states
        facts = await self._drop_oldest(await self.standing())
        self.evicted_facts += facts
        log.warning("outbox is full: reports thrown out", states=states, facts=facts)

    async def _drop_oldest(self, standing: Standing) -> int:
        """An even part of the sequences for the part of the bytes that is too much."""
        excess = standing.bytes - self._limit * _EASED
        if excess <= 0:
            return 0
        span = standing.newest - standing.first + 1
        return await self._purge(seq=standing.first + max(1, int(span * excess / standing.bytes)))

    async def _purge(self, **what: str | int) -> int:
        """How many went, as the server counts: others append meanwhile. `filter` or `seq`."""
        api_subject = f"$JS.API.STREAM.PURGE.{self._name}"
        try:
            answer = await self.connection.client.request(
                api_subject, msgspec.json.encode(what), timeout=_READ_SECONDS
            )
            told = msgspec.json.decode(answer.data, type=_Purged)
        except (nats.errors.Error, OSError, msgspec.DecodeError) as error:
            raise OutboxError(f"stream {self._name} cannot be purged: {error!r}") from error
        if not told.success:
            raise OutboxError(f"stream {self._name} cannot be purged: {told.error}")
        return told.purged

    async def _born(self, config: api.StreamConfig) -> str:
        epoch = uuid.uuid4().hex
        named = {**(config.metadata or {}), EPOCH: epoch}
        await self.connection.jetstream.update_stream(config.evolve(metadata=named))
        log.info("outbox has a new epoch", epoch=epoch)
        return epoch

    def _message(self, entry: Entry) -> Message:
        words = (entry.branch, entry.name)
        subject = Subject(scope=self.scope, branch=Branch.UP, words=words)
        headers = {MESSAGE_ID: entry.message_id or new_id()}
        return Message(subject=str(subject), headers=headers, data=entry.data)

    @property
    def _name(self) -> str:
        return Stream.UP.name_in(self.scope)
