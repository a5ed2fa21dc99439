"""Asks that wait to be published: merged, never lost.

PendingAsks takes the events of the watches. Watches call `put` from a callback and must not block,
so the asks wait, one per subject, until `run` has published them in batches. They stay while the
bus is away: their number is bounded by that of the applications, not by that of the changes.

SharedPublish takes the asks of webhook deliveries, whose callers wait until they are stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby

import structlog

from bus.carrier import CarrierError, EventPublisher
from bus.events import Event
from bus.events.event import Fact
from bus.trace import Trace

log = structlog.get_logger()

_BATCH = 256
_PAUSE = 1.0
Asks = tuple[Event, ...]


def _own_trace(_: Event) -> Trace | None:
    return None


def _every(_: Event) -> bool:
    return True


class PendingAsks:
    """`run` is a task that runs as long as the agent acts."""

    def __init__(
        self,
        publish: EventPublisher,
        trace_of: Callable[[Event], Trace | None] = _own_trace,
        is_ours: Callable[[Event], bool] = _every,
    ) -> None:
        """`is_ours` says of an event whether this replica publishes it, or another one."""
        self._publish = publish
        self._trace_of = trace_of
        self._is_ours = is_ours
        self._waiting: dict[tuple[object, ...], Event] = {}
        self._any = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, *events: Event) -> None:
        """Queue the events; a waiting hard refresh is not replaced by a soft one."""
        for event in filter(self._is_ours, events):
            key = _slot(event)
            waiting = self._waiting.get(key)
            if not (getattr(waiting, "hard", False) and not getattr(event, "hard", False)):
                self._waiting[key] = event
        if self._waiting:
            self._any.set()

    async def run(self) -> None:
        while True:
            await self._any.wait()
            self._any.clear()
            while self._waiting:
                await self._send()

    async def _send(self) -> None:
        batch = [self._waiting.pop(key) for key in tuple(self._waiting)[:_BATCH]]
        try:
            for trace, events in groupby(tuple(batch), self._trace_of):
                group = tuple(events)
                await self._publish(*group, trace=trace)
                del batch[: len(group)]  # stored: a failure of the next group must not repeat it
        except CarrierError as error:
            log.warning("asks wait for the bus", waiting=len(batch), cause=str(error))
            self._return(batch)
            await asyncio.sleep(_PAUSE)

    def _return(self, batch: list[Event]) -> None:
        # The failed events go first, so that newer ones of the same subject replace them.
        newer, self._waiting = self._waiting, {}
        self.put(*batch)
        self.put(*newer.values())


def _slot(event: Event) -> tuple[object, ...]:
    """Merge asks by type and key; keep every fact."""
    if isinstance(event, Fact):
        return event.name, str(event.key), event
    return event.name, str(event.key)


@dataclass(slots=True, kw_only=True)
class SharedPublish:
    """Publishes the equal asks of a burst of deliveries once.

    The bus merges asks of one subject, but each publish is a write to its disk. So while one
    publish is under way, all later callers with the same asks wait for the next one, together:

        under way   serves the callers that came before it began; a later caller is too late for it
        waiting     serves all callers since then, led by the first; begins when the other has ended

    Each ask is therefore published after its delivery arrived. A leader that is cancelled or
    fails takes no other caller with it: the next of the waiting callers leads.
    """

    publish: EventPublisher
    _waiting: dict[Asks, asyncio.Future[bool]] = field(default_factory=dict)
    _under_way: dict[Asks, asyncio.Future[bool]] = field(default_factory=dict)
    """The results of both say whether the asks were stored."""

    async def __call__(self, asks: Asks, *, message_id: str, trace: Trace) -> None:
        """Return when the asks are stored; raises what `publish` raises."""
        while (shared := self._waiting.get(asks)) is not None:
            if await asyncio.shield(shared):
                return
        await self._lead(asks, message_id, trace)

    async def _lead(self, asks: Asks, message_id: str, trace: Trace) -> None:
        shared = self._waiting[asks] = asyncio.get_running_loop().create_future()
        stored = False
        try:
            earlier = self._under_way.get(asks)
            if earlier is not None:
                await asyncio.wait((earlier,))
            self._under_way[asks] = self._waiting.pop(asks)
            await self.publish(*asks, message_id=message_id, trace=trace)
            stored = True
        finally:
            for stage in (self._waiting, self._under_way):
                if stage.get(asks) is shared:
                    del stage[asks]
            shared.set_result(stored)
