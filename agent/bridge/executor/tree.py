"""Tree: what an application consists of, with health, sync, images; for the graph on the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from agent.bridge.doing import Doing
from agent.bridge.executor.nodes import Node
from agent.bridge.executor.tools import Tools
from bus.identity import ResourceKey
from bus.link import Task
from handlers.application.status import ResourceStatus
from handlers.manifest import access
from handlers.manifest.images import images
from handlers.ports import ApplyRefusedError, ClusterUnreachableError

_MOST_PODS = "500"


@dataclass(frozen=True, slots=True)
class Tree:
    tools: Tools

    async def __call__(self, task: Task, _doing: Doing) -> object:
        app = self.tools.app(task)
        nodes = self.tools.nodes(app)
        pods = await self._pods(nodes)
        hidden = self.tools.governance.hidden
        wanted = {_key(one): one for one in app.status.resources if not hidden(_key(one))}
        shown = [_shown(node, wanted.get(key), pods.get(key)) for key, node in nodes.items()]
        absent = [_absent(one) for key, one in wanted.items() if key not in nodes]
        return {"nodes": [*shown, *absent]}

    async def _pods(self, nodes: Mapping[ResourceKey, Node]) -> dict[ResourceKey, Any]:
        """The index keeps no bodies of pods: one list for each namespace that has some of ours."""
        found: dict[ResourceKey, Any] = {}
        for space in sorted({key.namespace for key in nodes if key.kind == "Pod"}):
            path = f"/api/v1/namespaces/{space}/pods"
            try:
                raw = await self.tools.client.list_page(path, {"limit": _MOST_PODS})
            except (ApplyRefusedError, ClusterUnreachableError):
                continue  # the tree is worth showing without images
            for pod in access.items(msgspec.json.decode(raw), "items"):
                found[ResourceKey("", "Pod", space, access.name(pod))] = pod
        return found


def _shown(node: Node, wanted: ResourceStatus | None, pod: Any) -> dict[str, Any]:
    live = node.live
    body = pod if pod is not None else (live.manifest if live.body else {})
    return {
        "uid": live.uid,
        "group": live.key.group,
        "version": live.version,
        "kind": live.key.kind,
        "namespace": live.key.namespace,
        "name": live.key.name,
        "health": live.health or "",
        "healthMessage": live.health_message,
        "sync": wanted.status if wanted else "",
        "parents": [str(parent) for parent in node.parents],
        "images": list(images(body)),
        "createdAt": access.text(body, "metadata", "creationTimestamp") or None,
        "info": _info(pod) if pod is not None else [],
    }


def _absent(wanted: ResourceStatus) -> dict[str, Any]:
    """In Git, and not in the cluster."""
    return {
        "group": wanted.group,
        "version": wanted.version,
        "kind": wanted.kind,
        "namespace": wanted.namespace,
        "name": wanted.name,
        "health": "Missing",
        "healthMessage": "",
        "sync": wanted.status,
        "parents": [],
        "images": [],
        "createdAt": None,
        "info": [],
    }


def _info(pod: Any) -> list[str]:
    """Short words about a pod: ready containers, restarts, and the containers' names."""
    states = access.items(pod, "status", "containerStatuses")
    ready = sum(1 for state in states if state.get("ready") is True)
    restarts = sum(access.number(state, "restartCount") for state in states)
    names = [access.text(one, "name") for one in access.items(pod, "spec", "containers")]
    words = [f"{ready}/{len(names)} ready", f"containers: {', '.join(names)}"]
    return [*words, f"{restarts} restarts"] if restarts else words


def _key(one: ResourceStatus) -> ResourceKey:
    return ResourceKey(one.group, one.kind, one.namespace, one.name)
