"""The book as JSON lines: a record a line, complete: a copy can be verified by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
from sqlalchemy.ext.asyncio import AsyncEngine

from service.audit.book import after
from service.audit.record import Record


async def lines(engine: AsyncEngine, account: str, since: int = 0) -> AsyncIterator[bytes]:
    """Blocks of lines; a connection is held only while a block is read."""
    while True:
        async with engine.connect() as connection:
            records = await after(connection, account, since)
        if not records:
            return
        since = records[-1].sequence
        yield b"".join(msgspec.json.encode(it) + b"\n" for it in records)


def parse(line: bytes) -> Record:
    return msgspec.json.decode(line, type=Record)
