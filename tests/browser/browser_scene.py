"""What stands behind the pages: the demo's agents and service, and what changes something in it.

The demo lives on the playground's loop, the browser on the tests' loop: `call` goes to
the former. Applications made here hold one ConfigMap, so that nothing waits for pods.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from playground.background import BackgroundLoop
from playground.demo.repository import NAMESPACE
from playground.demo.running_demo import RunningDemo
from tests.support import eventually

T = TypeVar("T")

MARKS = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),  # the first one builds the demo
]
VIEWER = "vera"
WORKS = (
    "acted",
    "looked-at",
    "hostile",
    "pushed",
    "asked",
    "edited",
    "back",
    "undone",
    "dimmed",
    "cut",
    "shown",
    "made",
    "changed",
    "contested",
    "refused",
    "rebuilt",
    "older",
    "frozen",
    "touched",
    "raced",
    "entered",
)
"""The applications of the tests, one each; all are in Git before the first is made."""
_AUTOMATED = {"automated": {"prune": True, "selfHeal": True}}


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneWork:
    """An application of one test alone: who it is for the service, and what it keeps where."""

    id: str
    name: str

    @property
    def object(self) -> str:
        return f"/api/v1/namespaces/{self.name}/configmaps/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserScene:
    demo: RunningDemo
    background: BackgroundLoop

    @property
    def url(self) -> str:
        return self.demo.service.url

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.to_thread(self.background.call, work)

    async def get(self, path: str) -> dict[str, Any]:
        return await self.call(self.demo.service.get(path))

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return await self.call(self.demo.service.post(path, body))

    def furnish(self) -> None:
        files = {f"{name}/settings.yaml": _settings(name, "blue") for name in WORKS}
        files["served/deployment.yaml"] = _DEPLOYMENT
        files["acted/deployment.yaml"] = _DEPLOYMENT.replace("served", "acted")
        files["entered/deployment.yaml"] = _DEPLOYMENT.replace("served", "entered")
        self.demo.repository.commit(files, message="what the tests deliver")

    async def application(
        self, name: str, *, automated: bool, service: str = "", project: str = "default"
    ) -> SceneWork:
        """Made in the laptop's cluster; return when the service has its comparison with Git."""
        body = _application(name, self.demo.repository.url, automated=automated)
        body["spec"]["project"] = project
        if service:
            body["metadata"]["labels"] = {"plumbline.dev/service": service}
        await self.call(self.demo.laptop.create(body))
        status = "Synced" if automated else "OutOfSync"
        await eventually(lambda: self._seen(name, status))
        found = await self.call(self.demo.service.application("laptop", name))
        assert found is not None
        return SceneWork(id=found["id"], name=name)

    def push(self, name: str, colour: str, message: str = "") -> str:
        """What a colleague pushes; the commit."""
        changes = {f"{name}/settings.yaml": _settings(name, colour)}
        return self.demo.repository.commit(changes, message=message or f"{name} in {colour}")

    async def synced(self, work: SceneWork) -> None:
        """Sync it as the command line would, and wait for what the service knows then."""
        await self.post(f"/applications/{work.id}/sync", {})
        await self.is_synced(work)

    async def is_synced(self, work: SceneWork) -> None:
        """Wait until the service knows it as synced."""
        await eventually(lambda: self._seen(work.name, "Synced"))

    async def labelled(self, work: SceneWork, name: str, value: str) -> None:
        """Wait until the service knows this label of it."""

        async def seen() -> bool:
            found = await self.get(f"/applications/{work.id}")
            return bool(found["labels"].get(name) == value)

        await eventually(seen)

    async def colour(self, work: SceneWork) -> str:
        found = await self.call(self.demo.api.get(work.object))
        return str(found["metadata"]["labels"]["colour"])

    async def _seen(self, name: str, sync: str) -> bool:
        found = await self.call(self.demo.service.application("laptop", name))
        return found is not None and found["sync"] == sync


_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: served}
spec:
  selector: {matchLabels: {app: served}}
  template:
    metadata: {labels: {app: served}}
    spec: {containers: [{name: web, image: "registry.example/web:1.0"}]}
"""


def _settings(name: str, colour: str) -> str:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n"
    return f"{head}  name: {name}\n  labels: {{colour: {colour}}}\n"


def _application(name: str, url: str, *, automated: bool) -> dict[str, Any]:
    policy = {"syncOptions": ["CreateNamespace=true"], **(_AUTOMATED if automated else {})}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "project": "default",
            "source": {"repoURL": url, "targetRevision": "main", "path": name},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": name},
            "syncPolicy": policy,
        },
    }
