"""A live index with one application, `argocd/shop`, and who counts its instances."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import msgspec
import orjson

from agent.bridge.reporting.object_states import ObjectStates
from agent.bridge.reporting.service_instances import InstanceTracker
from agent.bridge.reporting.state_sources import instances_source
from agent.clock import SystemClock
from agent.kube.index import LiveIndex
from agent.kube.summary import summarise
from agent.store.applications import Applications
from bus.identity import AppKey
from bus.link import LinkItem, StateBody
from bus.link.kinds import INSTANCES
from handlers.manifest.tracking import TRACKING_ID
from handlers.ports import LiveObject
from handlers.report.known_secrets import KnownSecrets
from handlers.report.redaction import Redaction

SHOP = "argocd/shop"
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


class LiveClusterFixture:
    def __init__(self) -> None:
        self.known = KnownSecrets(b"s" * 16)
        self.index = LiveIndex("argocd")
        self.applications = Applications(cast("Any", None))
        self.running = InstanceTracker(
            applications=self.applications,
            index_of=lambda _app: self.index,
            control_namespace="argocd",
        )
        self.states = ObjectStates(
            sources=(instances_source(self.running),),
            redaction=Redaction(salt=b"s" * 16, known=self.known),
            clock=SystemClock(),
        )
        self._version = 0
        self.put_app()
        self.index.all_changes.subscribe(partial(self.running.observe, self.index))
        self.applications.indexed.subscribe(
            lambda _kind, one: self.running.application_changed(one)
        )

    def put_app(self, project: str = "team") -> None:
        metadata = {"name": "shop", "namespace": "argocd", "uid": "uid-of-shop"}
        body = {"metadata": self._next(metadata), "spec": {"project": project}}
        self.applications.put_application(orjson.dumps(body))

    def remove_app(self) -> None:
        self.applications.remove_application(AppKey.parse(SHOP))

    def deployment(self, name: str = "web") -> LiveObject:
        tracked = {"annotations": {TRACKING_ID: f"shop:apps/Deployment:web/{name}"}}
        return self._put("apps/v1", "Deployment", name, **tracked)

    def replica_set(self, name: str, owner: str = "web") -> LiveObject:
        return self._put("apps/v1", "ReplicaSet", name, ownerReferences=[_owner(owner)])

    def pod(
        self, name: str, owner: str, image: str = "web:1", status: dict[str, Any] = READY
    ) -> LiveObject:
        more = {"spec": {"containers": [{"name": "main", "image": image}]}, "status": status}
        return self._put("v1", "Pod", name, more, ownerReferences=[_owner(owner)])

    async def reported(self) -> dict[str, str]:
        """What a look finds to be new: names of pods and their images."""
        if SHOP not in await self.running.update():
            return {}
        return {pod["name"]: ",".join(pod["images"]) for pod in self.pods()}

    def pods(self) -> list[dict[str, Any]]:
        return list(self.body().status["pods"]) if not self.item().deleted else []

    def item(self) -> LinkItem:
        return self.states.item(INSTANCES.name, SHOP)

    def body(self) -> StateBody:
        return msgspec.json.decode(self.item().body, type=StateBody)

    def _put(
        self, version: str, kind: str, name: str, more: dict[str, Any] | None = None, **meta: Any
    ) -> LiveObject:
        metadata = self._next({"name": name, "namespace": "web", "uid": name, **meta})
        body = {"apiVersion": version, "kind": kind, "metadata": metadata, **(more or {})}
        live = summarise(orjson.dumps(body))
        self.index.put(live)
        return live

    def _next(self, metadata: dict[str, Any]) -> dict[str, Any]:
        self._version += 1
        return {**metadata, "resourceVersion": str(self._version)}


def _owner(name: str) -> dict[str, str]:
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name}
