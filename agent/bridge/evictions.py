"""Evictions: what a full outbox had to throw out is told as a fact, which stands behind the gap.

Counted as told only when the outbox has stored the fact. Until then it is the same fact with the
same id, so a try whose answer was lost tells nothing twice; what is thrown out meanwhile is the
next fact's.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import msgspec

from agent.bridge.entries import entry_of
from bus.ids import new_id
from bus.jetstream.outbox import Outbox
from bus.link import Item
from handlers.ports import Clock
from handlers.report.items import Stamp, note_item

EVICTED = "fact.outbox.evicted.v1"


class _Count(msgspec.Struct, frozen=True):
    states: int = 0
    facts: int = 0


@dataclass(slots=True, kw_only=True)
class Evictions:
    outbox: Outbox
    clock: Clock
    _told: _Count = field(default_factory=_Count)
    _waiting: tuple[_Count, Item] | None = None
    """A fact that is not stored yet, and up to where it counts."""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def tell(self) -> None:
        """Raises CarrierError: nothing was counted then."""
        async with self._turn:
            self._waiting = self._waiting or self._news()
            if self._waiting is None:
                return
            through, item = self._waiting
            await self.outbox.append(entry_of(item))
            self._told, self._waiting = through, None

    def _news(self) -> tuple[_Count, Item] | None:
        now = _Count(self.outbox.evicted_states, self.outbox.evicted_facts)
        if now == self._told:
            return None
        body = {"states": now.states - self._told.states, "facts": now.facts - self._told.facts}
        stamp = Stamp(id=new_id(), time=self.clock.now().isoformat())
        return now, note_item(EVICTED, body, stamp)
