"""Direct reads get messages of a stream by sequence or time, without a consumer.

A read leaves nothing at the server and changes nothing there, so a login with read
rights may do it. See NATS ADR-31.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import nats.errors
from nats.aio.msg import Msg

from bus.carrier import CarrierError
from bus.jetstream.connection import NatsConnection
from bus.jetstream.nats_client import cancel_safe

_READ_SECONDS = 5.0
_END_OF_BATCH, _NO_MESSAGE = "204", "404"


class DirectReadError(CarrierError):
    """The stream cannot be read: no answer, no such stream, or no right to read it."""


async def read_direct(
    connection: NatsConnection, stream: str, request: Mapping[str, object], *, limit: int
) -> Sequence[Msg]:
    """Read at most `limit` messages in order, each with a Nats-Sequence header; none at the end."""
    client, asked = connection.client, msgspec.json.encode({**request, "batch": limit})
    found: list[Msg] = []
    try:
        subscription = await client.subscribe(client.new_inbox(), max_msgs=limit + 1)
        try:
            subject = f"$JS.API.DIRECT.GET.{stream}"
            await client.publish(subject, asked, reply=subscription.subject)
            while _is_content(message := await cancel_safe(subscription.next_msg(_READ_SECONDS))):
                found.append(message)
        finally:
            await subscription.unsubscribe()
    except (nats.errors.Error, OSError) as error:
        raise DirectReadError(f"stream {stream} cannot be read: {error!r}") from error
    return found


async def read_newest(connection: NatsConnection, stream: str, subject: str) -> Msg | None:
    """Read the newest message of the subject, which may be a pattern; raises DirectReadError."""
    asked = msgspec.json.encode({"last_by_subj": subject})
    try:
        message = await cancel_safe(
            connection.client.request(f"$JS.API.DIRECT.GET.{stream}", asked, _READ_SECONDS)
        )
    except (nats.errors.Error, OSError) as error:
        raise DirectReadError(f"stream {stream} cannot be read: {error!r}") from error
    return message if _is_content(message) else None


def _is_content(message: Msg) -> bool:
    """Tell a message from the status that ends the answer; raises DirectReadError."""
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
