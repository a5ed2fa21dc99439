"""A key-value bucket of the bus holds small values that outlive a process; it is no database.

A time to live per key exists in NATS only on creation, so it is offered only there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import nats.errors
import nats.js.errors
from nats.js import JetStreamContext
from nats.js.kv import KeyValue

from bus.carrier import CarrierError
from bus.subjects import escape


class KeyValueError(CarrierError):
    """The bucket did not answer in time, or may not be used."""


@dataclass(frozen=True, slots=True)
class KeyValueBucket:
    """Keys are any text; values are bytes."""

    store: KeyValue

    async def get(self, key: str) -> bytes | None:
        with _failures("read", key):
            try:
                return (await self.store.get(escape(key))).value
            except nats.js.errors.KeyNotFoundError:
                return None

    async def put(self, key: str, value: bytes) -> None:
        with _failures("written", key):
            await self.store.put(escape(key), value)

    async def create(self, key: str, value: bytes, *, ttl: float | None = None) -> bool:
        """Create the key; False where it exists. `ttl` is in whole seconds, at least 1."""
        with _failures("created", key):
            try:
                await self.store.create(escape(key), value, msg_ttl=ttl)
            except nats.js.errors.KeyWrongLastSequenceError:
                return False
            return True

    async def delete(self, key: str) -> None:
        with _failures("deleted", key):
            await self.store.delete(escape(key))


async def open_bucket(jetstream: JetStreamContext, name: str) -> KeyValueBucket:
    try:
        return KeyValueBucket(await jetstream.key_value(name))
    except nats.errors.Error as error:
        raise KeyValueError(f"bucket {name} cannot be opened: {error!r}") from error


@contextmanager
def _failures(what: str, key: str) -> Iterator[None]:
    try:
        yield
    except (nats.errors.Error, OSError) as error:
        raise KeyValueError(f"key {key!r} could not be {what}: {error!r}") from error
