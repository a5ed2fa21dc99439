"""Whether what a render fetched would be fetched again: of remote bases, and of charts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from handlers.ports import Clock, RepositoryAccess, Sources

Record = TypeVar("Record")


async def all_hold(
    records: Iterable[Record], holds: Callable[[Record], Awaitable[bool]], seconds: float
) -> bool:
    """Whether all records hold; not, where it takes longer: the render meets the same server."""
    try:
        async with asyncio.timeout(seconds):
            for one in records:
                if not await holds(one):
                    return False
    except TimeoutError:
        return False  # the render meets the same slow server, and says it
    return True


def is_older(sources: Sources, clock: Clock, access: RepositoryAccess, seconds: float) -> bool:
    """Whether the last look at a repository is older than so many seconds, or there was none."""
    looked_at = sources.looked_at(access)
    return looked_at is None or (clock.now() - looked_at).total_seconds() >= seconds
