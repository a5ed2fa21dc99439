"""Server-sent events, read from a stream of lines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from cli.far.errors import FarError


class Told(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    id: str = ""
    data: dict[str, Any] = {}


async def told(lines: AsyncIterator[bytes]) -> AsyncIterator[Told]:
    """Events in order; comments, which are signs of life, are passed over."""
    block: dict[str, str] = {}
    async for raw in lines:
        name, _, value = raw.decode("utf-8", "replace").rstrip("\r\n").partition(":")
        if name:
            block[name] = value.removeprefix(" ")
        elif "event" in block:
            yield _event(block)
            block = {}


def _event(block: dict[str, str]) -> Told:
    try:
        data = msgspec.json.decode(block.get("data", "{}"), type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError) as e:
        raise FarError("an event of the service cannot be read: versions differ") from e
    return Told(name=block.get("event", "message"), id=block.get("id", ""), data=data)
