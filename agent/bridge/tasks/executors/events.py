"""Events: the Kubernetes events of an application's objects, as one answer or as a stream.

Each event is matched to the application when it arrives, so that events of a new pod are included.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog

from agent.bridge.reporting.object_nodes import VisibleObjects
from agent.bridge.tasks.executors.event_versions import EventVersions
from agent.bridge.tasks.executors.task_subjects import TaskSubjects
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.bridge.transport.link import LinkLostError
from agent.kube.clusters import Session
from agent.kube.core_api import events_path, last_seen
from agent.kube.watch import KindWatch, WatchTarget
from bus.identity import ResourceKey
from bus.link import EventsArguments, EventStreamArguments, LinkTask, ObjectArguments
from handlers.application.application import Application
from handlers.manifest import access
from handlers.report.redaction import Redaction

log = structlog.get_logger()

_READ_SECONDS = 20
_MOST_EVENTS = 500
_MOST_NAMESPACES = 20
_FOLLOWED_SECONDS = 3000
_ALIVE_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectEvents:
    subjects: TaskSubjects
    objects: VisibleObjects

    def selection(self, task: LinkTask, args: ObjectArguments) -> EventSelection:
        """The objects whose events the task is about. Raises TaskFailedError if it has none."""
        app = self.subjects.app(task)
        selection = EventSelection(
            objects=self.objects, session=self.objects.session(app), app=app, args=args
        )
        if args.name and not selection.keys():
            raise TaskFailedError("not_found", f"{app.key} has no {args.kind} {args.name}")
        return selection

    async def listed(self, selection: EventSelection) -> Sequence[Any]:
        """All events of the namespaces of the selection, in no order."""
        found: list[Any] = []
        async with asyncio.timeout(_READ_SECONDS):
            for namespace in selection.namespaces():
                raw = await selection.session.client.list_page(
                    events_path(namespace), {"limit": "2000"}
                )
                found += access.items(msgspec.json.decode(raw), "items")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSelection:
    """The objects whose events are selected: one object, or all of the application."""

    objects: VisibleObjects
    session: Session
    app: Application
    args: ObjectArguments

    def keys(self) -> Sequence[ResourceKey]:
        return [key for key in self.objects.nodes(self.app) if _is_selected(key, self.args)]

    def namespaces(self) -> Sequence[str]:
        return sorted({key.namespace or "default" for key in self.keys()})

    def matches(self, event: object) -> bool:
        """Called for every event of a namespace, so it follows the owners of one object only."""
        uid = access.text(event, "involvedObject", "uid")
        key = self.session.live.index.belonging(uid, self.app.key)
        if key is None or not _is_selected(key, self.args):
            return False
        return not self.objects.is_hidden(key)


def shown_event(event: Any) -> dict[str, Any]:
    subject = access.mapping(event, "involvedObject")
    return {
        "type": access.text(event, "type"),
        "reason": access.text(event, "reason"),
        "message": access.text(event, "message"),
        "count": access.number(event, "count", default=1),
        "lastSeen": last_seen(event),
        "object": f"{access.text(subject, 'kind')}/{access.text(subject, 'name')}",
    }


def _is_selected(key: ResourceKey, args: ObjectArguments) -> bool:
    if not args.name:
        return True
    return (key.group, key.kind, key.namespace, key.name) == (
        args.group,
        args.kind,
        args.namespace,
        args.name,
    )


@dataclass(frozen=True, slots=True)
class EventsExecutor:
    events: ObjectEvents

    async def __call__(
        self, task: LinkTask, args: EventsArguments, _context: TaskContext
    ) -> object:
        selection = self.events.selection(task, args)
        found = [one for one in await self.events.listed(selection) if selection.matches(one)]
        found.sort(key=last_seen, reverse=True)
        return {"items": [shown_event(one) for one in found[:_MOST_EVENTS]]}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStreamExecutor:
    events: ObjectEvents
    redaction: Callable[[], Redaction]
    alive: float = _ALIVE_SECONDS
    """Seconds without an event after which a stream sends an empty line."""

    async def __call__(
        self, task: LinkTask, args: EventStreamArguments, task_context: TaskContext
    ) -> object:
        """Stream events until the reader is gone, or for 50 minutes."""
        selection = self.events.selection(task, args)
        versions = EventVersions(selection.matches)
        for known in sorted(await self.events.listed(selection), key=last_seen):
            versions.add(known)
        try:
            async with asyncio.timeout(_FOLLOWED_SECONDS), asyncio.TaskGroup() as group:
                for namespace in selection.namespaces()[:_MOST_NAMESPACES]:
                    watch = _watch(selection, namespace, versions)
                    group.create_task(watch, name=f"events-{namespace}")
                await self._send(versions, task_context)
        except* TimeoutError:
            log.info("events followed for long enough", task=task.id)
        except* LinkLostError as lost:
            raise LinkLostError("the reader is gone") from lost
        return {"ended": "followed for long enough: ask again"}

    async def _send(self, versions: EventVersions, task_context: TaskContext) -> None:
        while True:
            found, dropped = await versions.next(self.alive)
            shown = self.redaction().value(shown_event(found)) if found else None
            line = msgspec.json.encode(shown).decode() if shown else ""
            await task_context.stream.send(line + "\n", dropped)


async def _watch(selection: EventSelection, namespace: str, versions: EventVersions) -> None:
    target = WatchTarget(name="events", path=events_path(namespace), query={})
    await KindWatch(selection.session.client, target, versions).run()
