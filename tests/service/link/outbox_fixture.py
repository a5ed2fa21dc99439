"""The outbox of a walk: the real stream on a real NATS, small enough to be full now and then."""

from __future__ import annotations

import contextlib

import msgspec
import nats.js.errors

from bus.jetstream import Bus
from bus.jetstream.outbox import Outbox
from bus.jetstream.provisioner import Provisioner
from bus.link import LinkItem
from bus.topology import buckets, streams

_BYTES = 40_000
_LARGEST = 8192


async def make_box(bus: Bus) -> None:
    """Anew: with an epoch of its own, and nothing in it."""
    name = bus.scope.name("UP")
    with contextlib.suppress(nats.js.errors.NotFoundError):
        await bus.connection.jetstream.delete_stream(name)
    made = Provisioner(bus.connection.jetstream, bus.scope)
    for stream in (it for it in streams(bus.scope) if it.name == name):
        small = msgspec.structs.replace(stream, max_bytes=_BYTES, max_message_bytes=_LARGEST)
        await made.stream(small)
    for bucket in (it for it in buckets(bus.scope) if it.name == bus.scope.name("link")):
        await made.bucket(bucket)


async def held(outbox: Outbox) -> set[str]:
    """Ids of what it holds."""
    found: set[str] = set()
    after = 0
    while part := await outbox.read(after, limit=500, max_bytes=1 << 20):
        found |= {msgspec.json.decode(one.data, type=LinkItem).id for one in part}
        after = part[-1].sequence
    return found
