"""Logs and events: what the cluster says about the objects of an application, and of no others.

Logs are a stream: lines go out as fast as they are taken, with secrets masked. A reader that is too
slow does not make us remember: lines are left out, and counted.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec

from agent.bridge.doing import Doing, TaskFailedError
from agent.bridge.executor import arguments
from agent.bridge.executor.nodes import nodes_of
from agent.bridge.executor.tools import Tools
from agent.kube.lines import Lines
from bus.identity import ResourceKey
from bus.link import Task
from handlers.application.application import Application
from handlers.manifest import access

_MOST_TAIL = 10_000
MOST_BYTES = 100 * 1024 * 1024
_LONGEST_LINE = 256 * 1024
_GATHER = 12 * 1024
_MOST_EVENTS = 500


@dataclass(frozen=True, slots=True)
class Pods:
    tools: Tools
    most: int = MOST_BYTES
    """Of one log."""

    async def logs(self, task: Task, doing: Doing) -> object:
        said = arguments.read(task, arguments.Logs)
        app = self.tools.app(task)
        pod = self._pod(app, said)
        sent = taken = 0
        async with self.tools.client.logs(pod.namespace, pod.name, self._query(said)) as content:
            lines = Lines(_LONGEST_LINE)
            async for chunk in content.iter_chunked(_GATHER):
                taken += len(chunk)
                sent += await self._send(lines.feed(chunk), doing)
        sent += await self._send(lines.feed(b"\n"), doing)
        if taken >= self.most:
            text = f"the log of {pod.name} has more than {self.most >> 20} MiB: ask for fewer lines"
            raise TaskFailedError("failed", text)
        return {"lines": sent}

    async def _send(self, lines: list[bytes], doing: Doing) -> int:
        if lines:
            text = b"\n".join(lines).decode(errors="replace")
            await doing.stream.send(self.tools.redaction().text(text) + "\n")
        return len(lines)

    def _query(self, said: arguments.Logs) -> dict[str, str]:
        query = {
            "tailLines": str(min(max(0, said.tail), _MOST_TAIL)),
            "limitBytes": str(self.most),
            "follow": "true" if said.follow else "false",
            "previous": "true" if said.previous else "false",
        }
        if said.container:
            query["container"] = said.container
        if said.since_seconds > 0:
            query["sinceSeconds"] = str(said.since_seconds)
        return query

    def _pod(self, app: Application, said: arguments.Logs) -> ResourceKey:
        name = said.pod or said.name
        nodes = nodes_of(app, self.tools.live)
        found = [key for key in nodes if key.kind == "Pod" and key.name == name]
        wanted = [key for key in found if said.namespace in ("", key.namespace)]
        if not wanted:
            pods = ", ".join(key.name for key in nodes if key.kind == "Pod")[:500]
            text = f"{app.key} has no pod {name!r}; there are: {pods or 'none'}"
            raise TaskFailedError("not_found", text)
        return wanted[0]

    async def events(self, task: Task, _doing: Doing) -> object:
        app = self.tools.app(task)
        said = arguments.read(task, arguments.Object)
        nodes = nodes_of(app, self.tools.live)
        wanted = {node.live.uid for key, node in nodes.items() if _is_meant(key, said)}
        if said.name and not wanted:
            raise TaskFailedError("not_found", f"{app.key} has no {said.kind} {said.name}")
        found: list[dict[str, Any]] = []
        spaces = {key.namespace or "default" for key in nodes if _is_meant(key, said)}
        async with asyncio.timeout(20):
            for space in sorted(spaces):
                found += await self._events(space, wanted)
        found.sort(key=lambda one: str(one["lastSeen"]), reverse=True)
        return {"items": found[:_MOST_EVENTS]}

    async def _events(self, space: str, wanted: set[str]) -> list[dict[str, Any]]:
        path = f"/api/v1/namespaces/{space}/events"
        raw = await self.tools.client.list_page(path, {"limit": "2000"})
        events = access.items(msgspec.json.decode(raw), "items")
        return [
            _event(one) for one in events if access.text(one, "involvedObject", "uid") in wanted
        ]


def _is_meant(key: ResourceKey, said: arguments.Object) -> bool:
    if not said.name:
        return True
    return (key.group, key.kind, key.namespace, key.name) == (
        said.group,
        said.kind,
        said.namespace,
        said.name,
    )


def _event(event: Any) -> dict[str, Any]:
    about = access.mapping(event, "involvedObject")
    seen = access.text(event, "lastTimestamp") or access.text(event, "eventTime")
    return {
        "type": access.text(event, "type"),
        "reason": access.text(event, "reason"),
        "message": access.text(event, "message"),
        "count": access.number(event, "count", default=1),
        "lastSeen": seen or access.text(event, "metadata", "creationTimestamp"),
        "object": f"{access.text(about, 'kind')}/{access.text(about, 'name')}",
    }
