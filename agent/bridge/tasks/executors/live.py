"""Live: the executors that answer with one live object of an application, or with their tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from agent.bridge.reporting.object_nodes import ObjectNode, VisibleObjects
from agent.bridge.tasks.executors.task_subjects import TaskSubjects
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.kube.client import KubeClient
from agent.kube.clusters import Session
from agent.kube.discovery import object_path
from bus.identity import ResourceKey
from bus.link import LinkTask, LiveArguments, ObjectArguments, TreeArguments
from handlers.application.application import Application
from handlers.application.status import ResourceStatus
from handlers.manifest import access
from handlers.manifest.kinds import KindInfo
from handlers.manifest.pods import images
from handlers.ports import ApplyRefusedError, ClusterUnreachableError, LiveObject

_MOST_PODS = "500"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveExecutor:
    subjects: TaskSubjects
    objects: VisibleObjects

    async def __call__(self, task: LinkTask, args: LiveArguments, _context: TaskContext) -> object:
        return await live_object(self.objects, self.subjects.app(task), args)


async def live_object(
    objects: VisibleObjects, app: Application, args: ObjectArguments
) -> dict[str, Any]:
    """Read an object of the application, or an orphaned one; raises TaskFailedError."""
    key = ResourceKey(args.group, args.kind, args.namespace, args.name)
    if key not in objects.nodes(app) and key not in objects.orphan_nodes(app):
        raise TaskFailedError("not_found", f"{key} is no live object of {app.key}")
    session = objects.session(app)
    path = object_path(_kind(session, key), key.namespace, key.name)
    return msgspec.json.decode(await session.client.get(path), type=dict[str, Any])


def _kind(session: Session, key: ResourceKey) -> KindInfo:
    kind = session.live.kind(key.group, key.kind)
    if kind is None:
        raise TaskFailedError("not_found", f"the cluster serves no {key.kind} of {key.group}")
    return kind


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeExecutor:
    subjects: TaskSubjects
    objects: VisibleObjects

    async def __call__(self, task: LinkTask, _args: TreeArguments, _context: TaskContext) -> object:
        app = self.subjects.app(task)
        nodes = self.objects.nodes(app)
        pods = await _pods(self.objects.session(app).client, nodes)
        hidden = self.objects.is_hidden
        status = {one.key: one for one in app.status.resources if not hidden(one.key)}
        shown = [_shown(node, status.get(key), pods.get(key)) for key, node in nodes.items()]
        wanted = {key: one for key, one in status.items() if not one.hook}
        absent = [_absent(one) for key, one in wanted.items() if key not in nodes]
        orphaned = map(_orphan, self.objects.orphaned(app))
        return {"nodes": [*shown, *absent, *orphaned]}


async def _pods(
    client: KubeClient, nodes: Mapping[ResourceKey, ObjectNode]
) -> dict[ResourceKey, Any]:
    """List the pods, one request for each namespace: the index keeps no bodies of pods."""
    found: dict[ResourceKey, Any] = {}
    for namespace in sorted({key.namespace for key in nodes if key.kind == "Pod"}):
        path = f"/api/v1/namespaces/{namespace}/pods"
        try:
            raw = await client.list_page(path, {"limit": _MOST_PODS})
        except (ApplyRefusedError, ClusterUnreachableError):
            continue  # the tree is worth showing without images
        for pod in access.items(msgspec.json.decode(raw), "items"):
            found[ResourceKey("", "Pod", namespace, access.name(pod))] = pod
    return found


def _shown(node: ObjectNode, status: ResourceStatus | None, pod: Any) -> dict[str, Any]:
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
        "sync": status.status if status else "",
        "parents": [str(parent) for parent in node.parents],
        "images": list(images(body)),
        "createdAt": access.text(body, "metadata", "creationTimestamp") or None,
        "info": _info(pod) if pod is not None else [],
    }


def _orphan(live: LiveObject) -> dict[str, Any]:
    """The node of an object of the namespace that no application has."""
    shown = _shown(ObjectNode(live=live), None, None)
    return {**shown, "orphaned": True, "info": ["orphaned: no application has it"]}


def _absent(status: ResourceStatus) -> dict[str, Any]:
    """The node of an object that is in Git and not in the cluster."""
    return {
        "group": status.group,
        "version": status.version,
        "kind": status.kind,
        "namespace": status.namespace,
        "name": status.name,
        "health": "Missing",
        "healthMessage": "",
        "sync": status.status,
        "parents": [],
        "images": [],
        "createdAt": None,
        "info": [],
    }


def _info(pod: Any) -> list[str]:
    """Ready containers, names of containers and restarts of a pod, as short texts."""
    states = access.items(pod, "status", "containerStatuses")
    ready = sum(1 for state in states if state.get("ready") is True)
    restarts = sum(access.number(state, "restartCount") for state in states)
    names = [access.text(one, "name") for one in access.items(pod, "spec", "containers")]
    words = [f"{ready}/{len(names)} ready", f"containers: {', '.join(names)}"]
    return [*words, f"{restarts} restarts"] if restarts else words
