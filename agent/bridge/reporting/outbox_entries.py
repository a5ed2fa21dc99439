"""Entries of the outbox: how it keeps an item of the link, and the report of those it evicted.

The outbox keeps the newest entry of each name. States of one object share a name, and so does the
progress of one task; every fact is named by its id and is never merged.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import msgspec

from bus.identity import new_id, token_of
from bus.jetstream.outbox import Outbox, OutboxEntry
from bus.link import ItemKind, LinkItem
from handlers.ports import Clock
from handlers.report.items import ItemStamp, note_item

EVICTED = "fact.outbox.evicted.v1"


def entry_of(item: LinkItem) -> OutboxEntry:
    data = msgspec.json.encode(item)
    match item.kind:
        case ItemKind.STATE | ItemKind.TASK:
            name = token_of(f"{item.type}:{item.subject}")
            return OutboxEntry(branch=item.kind.value, name=name, data=data)
        case ItemKind.FACT:
            return OutboxEntry(branch="fact", name=item.id, data=data, message_id=f"up:{item.id}")


class _Count(msgspec.Struct, frozen=True):
    states: int = 0
    facts: int = 0


@dataclass(slots=True, kw_only=True)
class Evictions:
    """Reports as a fact how many entries a full outbox has evicted.

    Evictions count as reported once the outbox has stored the fact. Until then every attempt
    appends the same fact with the same id, so an attempt whose answer was lost reports nothing
    twice; entries evicted meanwhile belong to the next fact.
    """

    outbox: Outbox
    clock: Clock
    _reported: _Count = field(default_factory=_Count)
    _waiting: tuple[_Count, LinkItem] | None = None
    """A fact that is not stored yet, and the counts that it covers."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def report(self) -> None:
        """Append a fact if anything was evicted. Raises CarrierError; a later call repeats it."""
        async with self._lock:
            self._waiting = self._waiting or self._next_fact()
            if self._waiting is None:
                return
            through, item = self._waiting
            await self.outbox.append(entry_of(item))
            self._reported, self._waiting = through, None

    def _next_fact(self) -> tuple[_Count, LinkItem] | None:
        now = _Count(self.outbox.evicted_states, self.outbox.evicted_facts)
        if now == self._reported:
            return None
        body = {
            "states": now.states - self._reported.states,
            "facts": now.facts - self._reported.facts,
        }
        stamp = ItemStamp(id=new_id(), time=self.clock.now().isoformat())
        return now, note_item(EVICTED, body, stamp)
