"""States: what each of our objects is now, as the service may know it, with its hash.

Made from what the sources have in memory when it is asked for, and kept until the object changes,
or a Secret is seen that may have to be masked in it. The truth is the cluster; nothing here
outlives the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.bridge.sources import Source
from bus.ids import new_id
from bus.link import Item, Member
from handlers.ports import Clock
from handlers.report.items import Stamp, tombstone
from handlers.report.redaction import Redaction

_SLICE = 20


@dataclass(slots=True, kw_only=True)
class States:
    sources: Sequence[Source[Any]]
    redaction: Redaction
    clock: Clock
    _made: dict[tuple[str, str], tuple[str, int, Item]] = field(default_factory=dict)

    @property
    def kinds(self) -> Sequence[str]:
        """Those of which everything is known: the rest cannot be compared yet."""
        return tuple(source.kind for source in self.sources if source.known())

    def item(self, kind: str, subject: str) -> Item:
        """The state, or a tombstone where there is no such object."""
        source = self._source(kind)
        found = source.get(subject) if source is not None else None
        if source is None or found is None:
            before = self._made.pop((kind, subject), None)
            return tombstone(kind, subject, self._stamp(), before[2].uid if before else "")
        return self._item(source, subject, found)

    async def members(self, kind: str) -> Sequence[Member]:
        """Every object of a kind with its hash, giving way now and then: the first time is work."""
        source = self._source(kind)
        members: list[Member] = []
        if source is None:
            return members
        for number, (subject, one) in enumerate(tuple(source.all().items())):
            if number % _SLICE == 0:
                await asyncio.sleep(0)
            item = self._item(source, subject, one)
            members.append(Member(subject=subject, uid=item.uid, hash=item.hash))
        return members

    def _item(self, source: Source[Any], subject: str, found: object) -> Item:
        version, known = source.version(found), self.redaction.known.version
        made = self._made.get((source.kind, subject))
        if made is not None and made[:2] == (version, known):
            return made[2]
        item = source.shape(found, self._stamp(), self.redaction)
        self._made[source.kind, subject] = (version, known, item)
        return item

    def _source(self, kind: str) -> Source[Any] | None:
        """None for a kind of which only a newer service knows."""
        return next((source for source in self.sources if source.kind == kind), None)

    def _stamp(self) -> Stamp:
        return Stamp(id=new_id(), time=self.clock.now().isoformat())
