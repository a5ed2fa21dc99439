"""Wait for a state by the service's change feed: a look after each event instead of polling.

The stream is opened before the first look, so no change in between is missed. A stream that is cut,
by a restart of the service for instance, is opened again and followed by a look. The events are
read by `read_events`, as the W3C describes server-sent events.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from cli.output import Exit
from cli.remote.errors import ServiceError
from cli.remote.service_client import ServiceClient

_AGAIN = 1.0
"""Seconds until a cut stream is opened again."""
_OPENED = ("hello", "gap")


class ServerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event; its `name` is `message` where the stream gives none."""

    name: str
    id: str = ""
    data: dict[str, Any] = {}


Look = Callable[[ServerEvent | None], Awaitable[bool]]
"""Whether it is so. The event that gives reason to look; None: look at everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeWait:
    """A part of the feed (`query`), and the events of it that are a reason to look (`concerns`)."""

    client: ServiceClient
    query: Mapping[str, str]
    look: Look
    concerns: Callable[[ServerEvent], bool]

    async def until(self, seconds: float) -> bool:
        """Look at once, after each event, and a last time at the deadline."""
        try:
            async with asyncio.timeout(seconds):
                await self._seen()
        except TimeoutError:
            return await self.look(None)
        return True

    async def _seen(self) -> None:
        received = False
        while True:
            try:
                async with self.client.open("/events", self.query) as response:
                    async for event in read_events(aiter(response.content)):
                        received = True
                        if await self._look_at(event):
                            return
            except ServiceError as e:
                if e.code is not Exit.REFUSED or not received:
                    raise
            await asyncio.sleep(_AGAIN)

    async def _look_at(self, event: ServerEvent) -> bool:
        if event.name in _OPENED:
            return await self.look(None)
        return self.concerns(event) and await self.look(event)


async def read_events(lines: AsyncIterator[bytes]) -> AsyncIterator[ServerEvent]:
    """Events in order; comments, which are signs of life, are passed over."""
    block: dict[str, str] = {}
    async for raw in lines:
        name, _, value = raw.decode("utf-8", "replace").rstrip("\r\n").partition(":")
        if name:
            block[name] = value.removeprefix(" ")
        elif "event" in block or "data" in block:
            yield _event(block)
            block = {}


def _event(block: dict[str, str]) -> ServerEvent:
    try:
        data = msgspec.json.decode(block.get("data", "{}"))
    except msgspec.DecodeError as e:
        raise ServiceError("an event of the service cannot be read: versions differ") from e
    if not isinstance(data, dict):
        data = {"value": data}
    return ServerEvent(name=block.get("event", "message"), id=block.get("id", ""), data=data)
