"""NatsPublisher returns when the server has stored the messages, through lost connections too.

Many messages are in flight at once, each with its own reply subject; a message whose reply got lost
with the connection is sent again, and the server drops it by its message id if it had it already.
One subscription serves all replies. nats-py's own `publish_async` does the same for one attempt; it
costs more per message and cannot say which messages a lost connection took with it.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import nats.errors
from nats.aio.msg import Msg

from bus.carrier import CarrierError, RefusedError
from bus.envelope import Message
from bus.jetstream.connection import NatsConnection

_REPLY_SECONDS = 5.0
_AGAIN_SECONDS = 0.1
_IN_FLIGHT = 1024
_SERVERS_FAULT = 500


class PublishTimeoutError(CarrierError):
    """The server did not confirm the messages in time; it may still store them."""


class _Fault(msgspec.Struct):
    code: int = 0
    description: str = ""


class _Reply(msgspec.Struct):
    error: _Fault | None = None


_reply_decoder = msgspec.json.Decoder(_Reply)
_STORED = _Reply()
_NO_REPLY = _Reply(error=_Fault(code=503, description="no answer"))


@dataclass(slots=True)
class NatsPublisher:
    connection: NatsConnection
    _replies: dict[str, asyncio.Future[_Reply]] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_IN_FLIGHT))
    _prefix: str = ""
    _last_fault: str = ""
    """The server's reason for not storing a message that was then sent again."""

    async def open(self) -> None:
        self._prefix = self.connection.client.new_inbox()
        await self.connection.client.subscribe(f"{self._prefix}.*", cb=self._on_reply)
        self.connection.on_lost.append(self._on_lost)

    @property
    def in_flight(self) -> int:
        """Messages sent whose reply is still awaited."""
        return len(self._replies)

    async def publish(self, messages: Sequence[Message]) -> None:
        seconds = self.connection.settings.publish_seconds
        try:
            async with asyncio.timeout(seconds):
                left = await self._attempt(messages)
                while left:
                    await asyncio.sleep(_AGAIN_SECONDS)
                    left = await self._attempt(left)
        except TimeoutError as error:
            first = messages[0].subject
            raise PublishTimeoutError(
                f"NATS did not store {len(messages)} messages (first {first}) in {seconds:g} s: "
                f"{self._last_fault or 'no answer'}"
            ) from error

    async def _attempt(self, messages: Sequence[Message]) -> list[Message]:
        """Send all messages and wait for the replies; return those that must be sent again."""
        await self.connection.up()
        sent: list[asyncio.Future[_Reply]] = []
        try:
            async with asyncio.timeout(_REPLY_SECONDS):
                for message in messages:
                    sent.append(await self._send(message))  # noqa: PERF401  kept when cut short
                await asyncio.wait(sent)
        except TimeoutError:
            pass  # messages without a reply are sent again; the server drops repeats by their id
        unstored = [
            message
            for message, reply in zip(messages, sent, strict=False)
            if not self._is_stored(message, reply)
        ]
        for reply in sent:
            reply.cancel()
        return [*unstored, *messages[len(sent) :]]

    def _is_stored(self, message: Message, reply: asyncio.Future[_Reply]) -> bool:
        """Tell whether the message is stored; raises RefusedError where another try is useless."""
        fault = reply.result().error if reply.done() else _NO_REPLY.error
        if fault is None:
            return True
        if fault.code < _SERVERS_FAULT:
            raise RefusedError(f"NATS refused {message.subject}: {fault.description}")
        self._last_fault = fault.description
        return False

    async def _send(self, message: Message) -> asyncio.Future[_Reply]:
        await self._slots.acquire()
        subject = f"{self._prefix}.{next(self._numbers)}"
        reply: asyncio.Future[_Reply] = asyncio.get_running_loop().create_future()
        self._replies[subject] = reply
        reply.add_done_callback(lambda _: self._forget(subject))
        try:
            await self.connection.client.publish(
                message.subject, message.data, reply=subject, headers=message.headers
            )
        except (nats.errors.Error, OSError):
            _settle(reply, _NO_REPLY)
        return reply

    def _forget(self, subject: str) -> None:
        del self._replies[subject]
        self._slots.release()

    async def _on_reply(self, message: Msg) -> None:
        reply = self._replies.get(message.subject)
        if reply is not None:
            unanswered = bool(message.headers) or not message.data  # no stream listens there yet
            _settle(reply, _NO_REPLY if unanswered else _reply_decoder.decode(message.data))

    def _on_lost(self) -> None:
        for reply in tuple(self._replies.values()):
            _settle(reply, _NO_REPLY)


def _settle(reply: asyncio.Future[_Reply], answer: _Reply) -> None:
    if not reply.done():
        reply.set_result(answer)
