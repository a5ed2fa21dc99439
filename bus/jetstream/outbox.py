"""The outbox keeps reports in the order of their making until the service has acknowledged them.

The stream `UP` keeps one message a subject, so a newer state of an object replaces the waiting one,
and a fact, whose subject is its own id, never replaces another. The outbox is read by sequence,
without a consumer: a second read returns the same. Its *epoch* is a random name, written into the
stream when it is first opened; a stream that was lost and made again has another epoch.

The outbox never fills up: before that it drops states (comparing hashes finds them again), then the
oldest facts, and counts what it dropped.
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
from bus.envelope import MESSAGE_ID, Message
from bus.identity import new_id
from bus.jetstream.connection import NatsConnection
from bus.jetstream.direct_reads import DirectReadError, read_direct, sequence_of
from bus.jetstream.nats_publisher import NatsPublisher
from bus.subjects import AgentScope, Branch, Subject
from bus.topology import StreamName

log = structlog.get_logger()

EPOCH = "gitops.epoch"
_READ_SECONDS = 5.0
_FULL = 0.9
"""Part of the stream's limit at which entries are dropped; `_EASED` is the part that remains."""
_EASED = 0.7
_CHECK_AFTER = 1 / 16


class OutboxError(CarrierError):
    """The outbox cannot be read or changed now."""


class OutboxEntry(msgspec.Struct, frozen=True, kw_only=True):
    """`branch` is `state`, `fact` or `task`; of equal names only the newest is kept."""

    branch: str
    name: str
    data: bytes
    message_id: str = ""
    """A repeat within two minutes is dropped; empty: every entry counts."""


class StoredEntry(msgspec.Struct, frozen=True, kw_only=True):
    sequence: int
    data: bytes


class _Purged(msgspec.Struct, frozen=True, kw_only=True):
    """The server's answer."""

    success: bool = False
    purged: int = 0
    error: Any = None


class OutboxPosition(msgspec.Struct, frozen=True, kw_only=True):
    epoch: str
    first: int
    newest: int
    bytes: int


@dataclass(slots=True)
class Outbox:
    connection: NatsConnection
    publisher: NatsPublisher
    scope: AgentScope
    evicted_states: int = 0
    evicted_facts: int = 0
    """Both are counted since the process began."""
    _appended_bytes: int = 0
    _limit: int = field(default=0)

    async def position(self) -> OutboxPosition:
        """Read the position; give a stream that was just made its epoch."""
        try:
            info = await self.connection.jetstream.stream_info(self._name)
            epoch = (info.config.metadata or {}).get(EPOCH) or await self._write_epoch(info.config)
        except (nats.errors.Error, OSError) as error:
            raise OutboxError(f"stream {self._name} does not answer: {error!r}") from error
        self._limit = info.config.max_bytes or 0
        state = info.state
        return OutboxPosition(
            epoch=epoch, first=state.first_seq, newest=state.last_seq, bytes=state.bytes
        )

    async def renew(self) -> None:
        """Give the stream another epoch, because what the service knows of the old one is wrong."""
        try:
            info = await self.connection.jetstream.stream_info(self._name)
            await self._write_epoch(info.config)
        except (nats.errors.Error, OSError) as error:
            raise OutboxError(f"stream {self._name} does not answer: {error!r}") from error

    async def append(self, *entries: OutboxEntry) -> None:
        """Return when all entries are stored; a nearly full stream drops old ones."""
        # The server is asked for its size only once per 1/16 of the limit, not for each report.
        self._appended_bytes += sum(len(entry.data) for entry in entries)
        if self._appended_bytes > self._limit * _CHECK_AFTER:
            await self.ease()
        await self.publisher.publish([self._message(entry) for entry in entries])

    async def read(self, after: int, *, limit: int, max_bytes: int) -> Sequence[StoredEntry]:
        """Read the entries after a sequence, in order; none at the end."""
        request = {"seq": after + 1, "max_bytes": max_bytes}
        try:
            found = await read_direct(self.connection, self._name, request, limit=limit)
        except DirectReadError as error:
            raise OutboxError(str(error)) from error
        return [StoredEntry(sequence=sequence_of(message), data=message.data) for message in found]

    async def forget(self, through: int) -> None:
        """Delete the entries up to `through`, which were acknowledged."""
        try:
            await self.connection.jetstream.purge_stream(self._name, seq=through + 1)
        except (nats.errors.Error, OSError) as error:
            raise OutboxError(f"stream {self._name} cannot be purged: {error!r}") from error

    async def ease(self) -> None:
        """Drop states, then the oldest other entries, where the stream is nearly full."""
        position = await self.position()
        self._appended_bytes = 0
        if position.bytes < self._limit * _FULL:
            return
        states = await self._purge(filter=f"{self.scope.prefix}.{Branch.UP}.state.>")
        self.evicted_states += states
        facts = await self._drop_oldest(await self.position())
        self.evicted_facts += facts
        log.warning("outbox is full: reports dropped", states=states, facts=facts)

    async def _drop_oldest(self, position: OutboxPosition) -> int:
        """Drop the same part of the sequences as the excess is of the bytes."""
        excess = position.bytes - self._limit * _EASED
        if excess <= 0:
            return 0
        span = position.newest - position.first + 1
        return await self._purge(seq=position.first + max(1, int(span * excess / position.bytes)))

    async def _purge(self, **what: str | int) -> int:
        """Purge by `filter` or up to `seq`; return the server's count, others append too."""
        api_subject = f"$JS.API.STREAM.PURGE.{self._name}"
        try:
            answer = await self.connection.client.request(
                api_subject, msgspec.json.encode(what), timeout=_READ_SECONDS
            )
            purged = msgspec.json.decode(answer.data, type=_Purged)
        except (nats.errors.Error, OSError, msgspec.DecodeError) as error:
            raise OutboxError(f"stream {self._name} cannot be purged: {error!r}") from error
        if not purged.success:
            raise OutboxError(f"stream {self._name} cannot be purged: {purged.error}")
        return purged.purged

    async def _write_epoch(self, config: api.StreamConfig) -> str:
        epoch = uuid.uuid4().hex
        named = {**(config.metadata or {}), EPOCH: epoch}
        await self.connection.jetstream.update_stream(config.evolve(metadata=named))
        log.info("outbox has a new epoch", epoch=epoch)
        return epoch

    def _message(self, entry: OutboxEntry) -> Message:
        words = (entry.branch, entry.name)
        subject = Subject(scope=self.scope, branch=Branch.UP, words=words)
        headers = {MESSAGE_ID: entry.message_id or new_id()}
        return Message(subject=str(subject), headers=headers, data=entry.data)

    @property
    def _name(self) -> str:
        return StreamName.UP.name_in(self.scope)
