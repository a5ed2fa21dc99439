"""MemoryBudget bounds what the agent keeps of a cluster that belongs to somebody else.

It counts what enters and leaves an index. Who owns the budget waits for `exceeded` and gives the
index up: one cluster must not take the memory of all.
"""

from __future__ import annotations

import asyncio

import msgspec

from handlers.ports import LiveObject

MOST_OBJECTS = 500_000
MOST_BYTES = 1024**3


class MemoryBudgetError(Exception):
    """A cluster holds more than the agent keeps of one."""


class MemoryBudget:
    def __init__(self, objects: int = MOST_OBJECTS, size: int = MOST_BYTES) -> None:
        self._most = (objects, size)
        self._objects = 0
        self._size = 0
        self._exceeded = asyncio.Event()

    def note(self, before: LiveObject | None, after: LiveObject | None) -> None:
        """Count a change of the index; never raises, because own writes change it too."""
        self._objects += (after is not None) - (before is not None)
        self._size += weight_of(after) - weight_of(before)
        if self._objects > self._most[0] or self._size > self._most[1]:
            self._exceeded.set()

    async def exceeded(self) -> None:
        """Wait until there is too much; raises MemoryBudgetError then."""
        await self._exceeded.wait()
        objects, size = self._most
        raise MemoryBudgetError(
            f"it has more than the agent keeps of one cluster, {objects} objects and {size} bytes "
            "of what Applications track. Give its Secret `namespaces`, so that only those are "
            "watched, or an agent of its own"
        )


def weight_of(live: LiveObject | None) -> int:
    """Return the bytes of an object whose number its cluster decides."""
    if live is None:
        return 0
    texts = (live.key.namespace, live.key.name, live.uid, live.tracking, *live.owners)
    kept = len(live.body) + len(live.owned) + len(live.inherited)
    seen = sum(len(msgspec.json.encode(it)) for it in (live.pod, live.symptom) if it is not None)
    return kept + seen + sum(map(len, texts))
