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
from agent.bridge.executor.desired import Desired, as_deployed, deployed_before
from agent.bridge.executor.intents import Intent, intents
from agent.bridge.executor.tools import Tools
from agent.kube.paths import item
from bus.identity import ResourceKey
from bus.link import Task
from handlers.application.application import Application
from handlers.compare.diff import diff
from handlers.compare.fields import parse_fields
from handlers.compare.normalise import sent
from handlers.compare.world import Pair, State, World
from handlers.manifest.kinds import KindInfo
from handlers.render.assemble import objects_of
from handlers.report.items import LARGEST
from handlers.report.redaction import Redaction

_UNMODIFIED = (State.SAME, State.LEAVING)


@dataclass(frozen=True, slots=True)
class Reads:
    tools: Tools

    async def manifests(self, task: Task, _doing: Doing) -> object:
        app = self.tools.app(task)
        said = arguments.read(task, arguments.Manifests)
        made = await Desired(self.tools).at(app, said.revision)
        return {"revision": made.record.revision, "manifests": list(objects_of(made.content))}

    async def diff(self, task: Task, _doing: Doing) -> object:
        """Of all objects that differ, or of those named; a preview also says what a sync would do.

        At whatever revision: one that is not rendered is rendered to be looked at.
        """
        app = self.tools.app(task)
        said = arguments.read(task, arguments.Preview)
        arguments.check_options(said)
        made = await Desired(self.tools).at(*_meant(app, said))
        world = await self.tools.worlds.beside(app, made.record, made.content)
        redaction = self.tools.redaction()
        seen = [one for one in _differing(world, said) if not self.tools.governance.hidden(one.key)]
        objects = [_difference(pair, redaction) for pair in seen]
        answer = {"revision": world.record.revision, "objects": fitting(objects)}
        return {**answer, "intents": self._intents(app, world, said)} if said.preview else answer

    def _intents(
        self, app: Application, world: World, said: arguments.Preview
    ) -> tuple[Intent, ...]:
        """With the objects refused that a sync over the link may not change."""
        governance = self.tools.governance
        touched = {one.key for one in world.of(State.CHANGED, State.MISSING, State.EXTRA)}
        name = app.spec.destination.namespace
        there = self.tools.live.get(ResourceKey("", "Namespace", "", name)) is not None
        whole = world.denying(governance.beyond(touched))
        made = there or not governance.may_create_namespace(name)
        return intents(app, whole, said, has_namespace=made)

    async def live(self, task: Task, _doing: Doing) -> object:
        app = self.tools.app(task)
        said = arguments.read(task, arguments.Object)
        key = ResourceKey(said.group, said.kind, said.namespace, said.name)
        if key not in self.tools.nodes(app):
            raise TaskFailedError("not_found", f"{key} is no live object of {app.key}")
        raw = await self.tools.client.get(item(self._kind(key), key.namespace, key.name))
        return msgspec.json.decode(raw)

    def _kind(self, key: ResourceKey) -> KindInfo:
        kind = self.tools.live.kind(key.group, key.kind)
        if kind is None:
            raise TaskFailedError("not_found", f"the cluster serves no {key.kind} of {key.group}")
        return kind


def _meant(app: Application, said: arguments.Preview) -> tuple[Application, str]:
    """The Application and the revision that the preview is about."""
    if said.history_id is None:
        return app, said.revision
    entry = deployed_before(app, said.history_id)
    return as_deployed(app, entry), entry.revision


def _differing(world: World, said: arguments.Preview) -> list[Pair]:
    wanted = {ResourceKey(it.group, it.kind, it.namespace, it.name) for it in said.resources}
    pairs = (one for one in world.pairs if one.state not in _UNMODIFIED)
    return [one for one in pairs if not wanted or one.key in wanted]


def fitting(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With whole objects as long as they fit; beyond that the fields that differ, and the key."""
    left = LARGEST - 4096
    shown = []
    for one in objects:
        left -= len(msgspec.json.encode(one))
        shown.append(one if left > 0 else {**one, "desired": {}, "live": {}, "cut": True})
    return shown


def _difference(pair: Pair, redaction: Redaction) -> dict[str, Any]:
    """Both states through one redaction: a hidden value that differs is seen to differ."""
    redaction = redaction.together()
    desired = redaction.manifest(sent(pair.desired)) if pair.desired is not None else None
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
