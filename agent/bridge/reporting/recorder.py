"""Recorder: puts facts and changed states into the outbox, with or without a link.

Facts come from a durable reader of the stream FACT and are acknowledged when the outbox has stored
them, so a crash loses none; a fact that is recorded twice has one name in the outbox. Of states the
newest of each object is recorded, and only if its hash has changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from agent.bridge.reporting.finished_operations import FinishedOperations
from agent.bridge.reporting.object_states import ObjectStates
from agent.bridge.reporting.outbox_entries import Evictions, entry_of
from bus.carrier import CarrierError, Delivery
from bus.envelope import DecodeError, decode
from bus.events import Fact, OperationFinished
from bus.identity import new_id
from bus.jetstream import Bus
from bus.jetstream.outbox import Outbox
from bus.link import LinkItem
from bus.topology import REPORT_READER
from handlers.report.items import ItemStamp, fact_item, note_item

log = structlog.get_logger()

_BATCH = 64
_AGAIN_SECONDS = 1.0


@dataclass(slots=True, kw_only=True)
class Recorder:
    bus: Bus
    outbox: Outbox
    evictions: Evictions
    states: ObjectStates
    finished_operations: FinishedOperations
    outbox_changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set after each append, and to make the link read the outbox again."""
    _facts: asyncio.Queue[Delivery] = field(default_factory=asyncio.Queue)
    _changed: dict[tuple[str, str], None] = field(default_factory=dict)
    _dirty: asyncio.Event = field(default_factory=asyncio.Event)
    _hashes: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def is_up_to_date(self) -> bool:
        """Whether no changed state waits to be recorded."""
        return not self._changed

    def changed(self, kind: str, subject: str) -> None:
        """Record the state of this object soon. Never blocks."""
        self._changed[kind, subject] = None
        self._dirty.set()

    async def run(self) -> None:
        inbox = self.bus.fact_inbox(REPORT_READER, self._facts.put)
        await inbox.open()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(inbox.supervise(), name="report-inbox")
                tasks.create_task(self._record_states(), name="report-states")
                while True:
                    deliveries = await self._next()
                    await self._record(self._items_of(deliveries))
                    for delivery in deliveries:
                        await delivery.ack()
                        await inbox.release()
        finally:
            await inbox.close()

    async def record(self, *items: LinkItem) -> None:
        """Store the items; raises CarrierError."""
        await self.outbox.append(*map(entry_of, items))
        await self.evictions.report()
        self.outbox_changed.set()

    async def record_link_fact(self, kind: str, body: Mapping[str, int]) -> None:
        """Record a fact about the link itself."""
        stamp = ItemStamp(id=new_id(), time=self.states.clock.now().isoformat())
        await self.outbox.append(entry_of(note_item(kind, body, stamp)))
        self.outbox_changed.set()

    async def _record(self, items: Sequence[LinkItem]) -> None:
        """Try until the items are stored: unrecorded facts must not be acknowledged."""
        while items:
            try:
                await self.record(*items)
            except CarrierError as error:
                log.warning("reports not recorded yet", reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                return

    async def _next(self) -> Sequence[Delivery]:
        found = [await self._facts.get()]
        while len(found) < _BATCH and not self._facts.empty():
            found.append(self._facts.get_nowait())
        return found

    def _items_of(self, deliveries: Sequence[Delivery]) -> list[LinkItem]:
        return [item for delivery in deliveries if (item := self._item_of(delivery)) is not None]

    def _item_of(self, delivery: Delivery) -> LinkItem | None:
        try:
            envelope, fact = decode(delivery.headers, delivery.data)
        except DecodeError as error:
            log.warning("fact not reported", subject=delivery.subject, reason=str(error))
            return None
        if not isinstance(fact, Fact) or not fact.reported:
            return None
        if isinstance(fact, OperationFinished):
            self.finished_operations.add(fact)
        stamp = ItemStamp(
            id=envelope.id, time=envelope.time.isoformat(), correlation=envelope.correlation
        )
        return fact_item(fact, stamp, self.states.redaction)

    async def _record_states(self) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            subjects = tuple(self._changed)[:_BATCH]
            items = {one: self.states.item(*one) for one in subjects}
            await self._record([item for one, item in items.items() if self._is_changed(one, item)])
            for one, item in items.items():
                self._hashes[one] = item.hash
                if self.states.item(*one).hash == item.hash:
                    self._changed.pop(one, None)
            if self._changed:
                self._dirty.set()

    def _is_changed(self, one: tuple[str, str], item: LinkItem) -> bool:
        return item.deleted or self._hashes.get(one) != item.hash
