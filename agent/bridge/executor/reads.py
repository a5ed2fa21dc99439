"""Manifests, diff, live: the desired state, the cluster's, and the difference, on demand.

Differences are taken between the redacted objects: a masked value differs where the value does, and
what is not shown is not compared for show either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from agent.bridge.doing import Doing, TaskFailedError
from agent.bridge.executor import arguments
from agent.bridge.executor.nodes import nodes_of
from agent.bridge.executor.tools import Tools
from agent.kube.paths import item
from bus.identity import ResourceKey
from bus.link import Task
from handlers.application.application import Application
from handlers.compare.diff import diff
from handlers.compare.fields import parse_fields
from handlers.compare.world import Pair, State, World
from handlers.manifest.kinds import KindInfo
from handlers.render.assemble import objects_of
from handlers.report.items import LARGEST
from handlers.report.redaction import Redaction

_NOT_RENDERED = "its manifests are not rendered yet: refresh it, and look at its conditions"
_UNMODIFIED = (State.SAME, State.LEAVING)


@dataclass(frozen=True, slots=True)
class Reads:
    tools: Tools

    async def manifests(self, task: Task, _doing: Doing) -> object:
        app = self.tools.app(task)
        said = arguments.read(task, arguments.Manifests)
        record = self.tools.renders.recall(app.key)
        content = await self.tools.artifacts.get(record.digest) if record else None
        if record is None or content is None:
            raise TaskFailedError("not_found", f"{app.key}: {_NOT_RENDERED}")
        if said.revision and said.revision != record.revision:
            text = f"only revision {record.revision} is rendered here"
            raise TaskFailedError("unsupported", text)
        return {"revision": record.revision, "manifests": list(objects_of(content))}

    async def diff(self, task: Task, _doing: Doing) -> object:
        """Of all objects that differ, or as a preview of those that a sync is to be about."""
        app = self.tools.app(task)
        said = arguments.read(task, arguments.Sync)
        world = await self._world(app)
        target = app.source.target_revision if app.source else ""
        if said.revision not in ("", target, world.record.revision):
            text = f"only revision {world.record.revision} is rendered here"
            raise TaskFailedError("unsupported", text)
        redaction = self.tools.redaction()
        wanted = {ResourceKey(it.group, it.kind, it.namespace, it.name) for it in said.resources}
        pairs = [
            pair
            for pair in world.pairs
            if pair.state not in _UNMODIFIED and (not wanted or pair.key in wanted)
        ]
        objects = [_difference(pair, redaction) for pair in pairs]
        return {"revision": world.record.revision, "objects": fitting(objects)}

    async def live(self, task: Task, _doing: Doing) -> object:
        app = self.tools.app(task)
        said = arguments.read(task, arguments.Object)
        key = ResourceKey(said.group, said.kind, said.namespace, said.name)
        if key not in nodes_of(app, self.tools.live):
            raise TaskFailedError("not_found", f"{key} is no live object of {app.key}")
        raw = await self.tools.client.get(item(self._kind(key), key.namespace, key.name))
        return msgspec.json.decode(raw)

    async def _world(self, app: Application) -> World:
        world = await self.tools.worlds.read(app)
        if world is None:
            raise TaskFailedError("not_found", f"{app.key}: {_NOT_RENDERED}")
        return world

    def _kind(self, key: ResourceKey) -> KindInfo:
        kind = self.tools.live.kind(key.group, key.kind)
        if kind is None:
            raise TaskFailedError("not_found", f"the cluster serves no {key.kind} of {key.group}")
        return kind


def fitting(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With whole objects as long as they fit; beyond that the fields that differ, and the key."""
    left = LARGEST - 4096
    shown = []
    for one in objects:
        left -= len(msgspec.json.encode(one))
        shown.append(one if left > 0 else {**one, "desired": {}, "live": {}, "cut": True})
    return shown


def _difference(pair: Pair, redaction: Redaction) -> dict[str, Any]:
    desired = redaction.manifest(pair.desired) if pair.desired is not None else None
    whole = pair.live is not None and bool(pair.live.body)
    live = redaction.manifest(pair.live.manifest) if pair.live and whole else None
    changes: list[dict[str, Any]] = []
    if desired is not None and live is not None and pair.live is not None:
        owned = parse_fields(pair.live.owned)
        changes = [
            {"path": one.path, "desired": one.desired, "live": one.live}
            for one in diff(desired, live, owned).differences
        ]
    return {
        "key": str(pair.key),
        "modified": pair.state is State.CHANGED,
        "desired": desired,
        "live": live if pair.live is None or live is not None else {},
        "changes": changes,
    }
