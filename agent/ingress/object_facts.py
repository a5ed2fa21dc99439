"""ObjectFacts publishes what the watches see of the applications' objects, a bounded amount of it.

The changes of an object are summed up until its fact is published, which is at once where it was
quiet, and a second later where it was not. A round serves the applications in turns and ends at a
number of facts; the rest waits, one fact an object. So a tenant whose objects never rest delays his
own facts first, and whatever happens the bus gets so many facts a second and no more. An agent that
ends, or does not act any more, leaves out what waits: a fact is no state.
"""

from __future__ import annotations

import asyncio
from collections import deque

import structlog
from prometheus_client import Counter

from agent.ingress.object_changes import ObjectChange, object_change
from agent.kube.live_change import LiveChange
from bus.carrier import CarrierError, EventPublisher
from bus.events.object_facts import ObjectChanged
from bus.identity import AppKey, ResourceKey
from handlers.application.application import Application

log = structlog.get_logger()

_ROUND_SECONDS = 1.0
_ROUND = 200
"""Most facts of a round, of all applications together."""
_WAITING = 20_000
_WAITING_OF_ONE = 5_000
"""Most objects with a fact that waits, of one application; further ones have none: see metrics."""
_Slot = tuple[str, ResourceKey]


class ObjectFacts:
    """`run` is a task that runs as long as the agent acts."""

    def __init__(self, publish: EventPublisher, left_out: Counter) -> None:
        self._publish = publish
        self._left_out = left_out
        self._waiting: dict[AppKey, dict[_Slot, tuple[str, ObjectChange]]] = {}
        self._count = 0
        self._any = asyncio.Event()

    def __len__(self) -> int:
        return self._count

    async def run(self) -> None:
        while True:
            await self._any.wait()
            self._any.clear()
            await self._send(self._round())
            if self._waiting:
                self._any.set()
            await asyncio.sleep(_ROUND_SECONDS)

    def put(self, app: Application, server: str, change: LiveChange, *, ours: bool) -> None:
        """Note a change of an object of the Application, by the agent itself or by others."""
        live = change.after or change.before
        if live is None:
            return
        objects, slot = self._waiting.get(app.key, {}), (server, live.key)
        earlier = objects[slot][1] if slot in objects else None
        later = object_change(change, ours=ours, paths=earlier is None or not earlier.is_full)
        if later is None:
            return
        if earlier is None:
            if self._count >= _WAITING or len(objects) >= _WAITING_OF_ONE:
                self._left_out.inc()
                return
            self._count += 1
        summary = earlier.then(later) if earlier is not None else later
        self._waiting.setdefault(app.key, {})[slot] = (app.spec.project, summary)
        self._any.set()

    def _round(self) -> tuple[ObjectChanged, ...]:
        """Take the facts of one round, one of each application in turn."""
        taken: list[ObjectChanged] = []
        turns = deque(self._waiting)
        while turns and len(taken) < _ROUND:
            app = turns.popleft()
            objects = self._waiting.pop(app)
            slot = next(iter(objects))
            taken.append(_fact(app, slot, *objects.pop(slot)))
            if objects:
                self._waiting[app] = objects  # behind the others, in this round and the next
                turns.append(app)
        self._count -= len(taken)
        return tuple(taken)

    async def _send(self, facts: tuple[ObjectChanged, ...]) -> None:
        if not facts:
            return
        try:
            await self._publish(*facts)
        except CarrierError as error:
            self._left_out.inc(len(facts))
            log.warning("facts of objects left out", facts=len(facts), cause=str(error))


def _fact(app: AppKey, slot: _Slot, project: str, summary: ObjectChange) -> ObjectChanged:
    server, key = slot
    return ObjectChanged(
        app=app,
        project=project,
        object=str(key),
        server=server,
        change=summary.kind,
        health_before=summary.health_before,
        health=summary.health,
        fields=summary.fields,
        managers=summary.managers,
        changes=summary.changes,
    )
