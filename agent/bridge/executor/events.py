"""Events: what the cluster says about the objects of an application, and of no others.

As an answer, the newest first; or as a stream: those that are known, then each as it comes, each a
line of JSON. An empty line says that the stream still lives. What belongs to the application is
looked up for each event, so a pod that was just made is heard of too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog

from agent.bridge.doing import Doing, TaskFailedError
from agent.bridge.executor import arguments
from agent.bridge.executor.happenings import Happenings
from agent.bridge.executor.tools import Tools
from agent.bridge.link import LinkLostError
from agent.kube.watch import KindWatch, Subject
from bus.identity import ResourceKey
from bus.link import Task
from handlers.application.application import Application
from handlers.manifest import access

log = structlog.get_logger()

_MOST_EVENTS = 500
_MOST_NAMESPACES = 20
_READ_SECONDS = 20
_FOLLOWED_SECONDS = 3000
_ALIVE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Events:
    tools: Tools
    alive: float = _ALIVE_SECONDS
    """Seconds of silence after which a stream gives a sign of life."""

    async def recent(self, task: Task, _doing: Doing) -> object:
        about = self._about(task)
        found = [one for one in await self._listed(about) if about.means(one)]
        found.sort(key=_when, reverse=True)
        return {"items": [_event(one) for one in found[:_MOST_EVENTS]]}

    async def follow(self, task: Task, doing: Doing) -> object:
        """Until the reader goes, or for the better part of an hour."""
        about = self._about(task)
        happenings = Happenings(about.means)
        for known in sorted(await self._listed(about), key=_when):
            happenings.hear(known)
        try:
            async with asyncio.timeout(_FOLLOWED_SECONDS), asyncio.TaskGroup() as group:
                for space in about.spaces()[:_MOST_NAMESPACES]:
                    watch = self._watch(space, happenings)
                    group.create_task(watch, name=f"events-{space}")
                await self._send(happenings, doing)
        except* TimeoutError:
            log.info("events followed for long enough", task=task.id)
        except* LinkLostError as lost:
            raise LinkLostError("the reader is gone") from lost
        return {"ended": "followed for long enough: ask again"}

    async def _watch(self, space: str, happenings: Happenings) -> None:
        subject = Subject(name="events", path=_path(space), query={})
        await KindWatch(self.tools.client, subject, happenings).run()

    async def _send(self, happenings: Happenings, doing: Doing) -> None:
        while True:
            found, dropped = await happenings.next(self.alive)
            shown = self.tools.redaction().value(_event(found)) if found else None
            line = msgspec.json.encode(shown).decode() if shown else ""
            await doing.stream.send(line + "\n", dropped)

    async def _listed(self, about: _About) -> Sequence[Any]:
        found: list[Any] = []
        async with asyncio.timeout(_READ_SECONDS):
            for space in about.spaces():
                raw = await self.tools.client.list_page(_path(space), {"limit": "2000"})
                found += access.items(msgspec.json.decode(raw), "items")
        return found

    def _about(self, task: Task) -> _About:
        about = _About(self.tools, self.tools.app(task), arguments.read(task, arguments.Object))
        if about.said.name and not about.keys():
            text = f"{about.app.key} has no {about.said.kind} {about.said.name}"
            raise TaskFailedError("not_found", text)
        return about


@dataclass(frozen=True, slots=True)
class _About:
    """Whose events are meant: of one object, or of everything that belongs to the application."""

    tools: Tools
    app: Application
    said: arguments.Object

    def keys(self) -> Sequence[ResourceKey]:
        return [key for key in self.tools.nodes(self.app) if _is_meant(key, self.said)]

    def spaces(self) -> Sequence[str]:
        return sorted({key.namespace or "default" for key in self.keys()})

    def means(self, event: object) -> bool:
        """Asked for every event of a namespace: up the owners of one object, not through all."""
        uid = access.text(event, "involvedObject", "uid")
        key = self.tools.live.index.belonging(uid, self.app.key)
        return key is not None and _is_meant(key, self.said) and not self._hidden(key)

    def _hidden(self, key: ResourceKey) -> bool:
        return self.tools.governance.hidden(key)


def _path(space: str) -> str:
    return f"/api/v1/namespaces/{space}/events"


def _is_meant(key: ResourceKey, said: arguments.Object) -> bool:
    if not said.name:
        return True
    return (key.group, key.kind, key.namespace, key.name) == (
        said.group,
        said.kind,
        said.namespace,
        said.name,
    )


def _when(event: object) -> str:
    seen = access.text(event, "lastTimestamp") or access.text(event, "eventTime")
    return seen or access.text(event, "metadata", "creationTimestamp")


def _event(event: Any) -> dict[str, Any]:
    about = access.mapping(event, "involvedObject")
    return {
        "type": access.text(event, "type"),
        "reason": access.text(event, "reason"),
        "message": access.text(event, "message"),
        "count": access.number(event, "count", default=1),
        "lastSeen": _when(event),
        "object": f"{access.text(about, 'kind')}/{access.text(about, 'name')}",
    }
