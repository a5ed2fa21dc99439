"""Direct reads: messages of a stream by sequence or time, without a consumer.

A read leaves nothing at the server and can change nothing there, so it is also what a login that
may only read is allowed to do. See NATS ADR-31.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import nats.errors
from nats.aio.msg import Msg

from bus.carrier import CarrierError
from bus.jetstream.connection import Connection
from bus.jetstream.heeding import heeded

_READ_SECONDS = 5.0
_END_OF_BATCH, _NO_MESSAGE = "204", "404"


class DirectReadError(CarrierError):
    """The stream cannot be read: no answer, no such stream, or no right to."""


async def read_direct(
    connection: Connection, stream: str, request: Mapping[str, object], *, limit: int
) -> Sequence[Msg]:
    """At most `limit` messages in order, each with the header Nats-Sequence; empty at the end."""
    client, asked = connection.client, msgspec.json.encode({**request, "batch": limit})
    found: list[Msg] = []
    try:
        subscription = await client.subscribe(client.new_inbox(), max_msgs=limit + 1)
        try:
            subject = f"$JS.API.DIRECT.GET.{stream}"
            await client.publish(subject, asked, reply=subscription.subject)
            while _is_content(message := await heeded(subscription.next_msg(_READ_SECONDS))):
                found.append(message)
        finally:
            await subscription.unsubscribe()
    except (nats.errors.Error, OSError) as error:
        raise DirectReadError(f"stream {stream} cannot be read: {error!r}") from error
    return found


def _is_content(message: Msg) -> bool:
    """False at the end of what was asked for."""
    headers = message.headers or {}
    status = headers.get("Status", "")
    if status in (_END_OF_BATCH, _NO_MESSAGE):
        return False
    if status:
        text = f"{status} {headers.get('Description', '')}".strip()
        raise DirectReadError(f"the server does not read this stream: {text}")
    return True


def sequence_of(message: Msg) -> int:
    return int((message.headers or {})["Nats-Sequence"])
