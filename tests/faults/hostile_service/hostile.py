"""What a hostile control plane does to one agent, and what of it shows in the cluster."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from bus.link import LinkTask, Offer, TaskKind, TaskResult
from tests.flows.agent_fixture import SERVER, AgentFixture
from tests.flows.fake_service_link import FakeServiceLink
from tests.support import eventually


@dataclass(frozen=True, slots=True)
class Hostile:
    """What it does to one agent, and what of it shows in the cluster."""

    link: FakeServiceLink
    victim: str
    """A namespace that the owner has not permitted."""

    @property
    def agent(self) -> AgentFixture:
        return self.link.agent

    async def put_app(self, name: str, path: str, **spec: Any) -> TaskResult:
        """An Application that syncs by itself, with `namespace` in place of the permitted one."""
        namespace = spec.pop("namespace", self.agent.destination)
        source = {"repoURL": self.agent.repository.url, "path": path, "targetRevision": "main"}
        body = {
            "project": "default",
            "source": source,
            "destination": {"server": SERVER, "namespace": namespace},
            "syncPolicy": {"automated": {"prune": True, "selfHeal": True}},
            **spec,
        }
        return await self.put(name, "Application", body)

    async def put(self, name: str, kind: str, spec: Any, **metadata: Any) -> TaskResult:
        manifest = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": kind,
            "metadata": {"name": name, **metadata},
            "spec": spec,
        }
        return await self.link.do(TaskKind.PUT, self.subject(name), manifest=manifest)

    async def do(self, kind: TaskKind, name: str, /, **arguments: Any) -> TaskResult:
        return await self.link.do(kind, self.subject(name), **arguments)

    async def insist(self, kind: TaskKind, name: str) -> TaskResult:
        """Offered until it is answered, over whichever link there is."""
        task, results = self.task(kind, name), self.link.fake_service.results

        async def ended() -> list[TaskResult]:
            await self.link.fake_service.send(Offer(task=task))
            return results.get(task.id, [])

        return (await eventually(ended, within=120, what=f"end of {kind}"))[0]

    def task(self, kind: TaskKind, name: str, /, **fields: Any) -> LinkTask:
        return LinkTask(
            id=uuid.uuid4().hex, kind=kind, subject=self.subject(name), actor="mallory", **fields
        )

    def subject(self, name: str) -> str:
        return f"{self.agent.namespace}/{name}"

    async def settled(self, name: str) -> dict[str, Any]:
        """The Application once it is there and an operation of it is over."""
        await eventually(lambda: self.agent.known(name), what=f"the application {name}")
        return await self.agent.until(has_ended, app=name)

    async def exists(self, path: str) -> bool:
        return await self.agent.api.exists(path)


def has_ended(app: dict[str, Any]) -> bool:
    state = app.get("status", {}).get("operationState", {})
    return state.get("phase") in ("Succeeded", "Failed", "Error") and bool(state.get("finishedAt"))


def messages(app: dict[str, Any]) -> str:
    """What the results of the last operation say, in one text."""
    result = app["status"]["operationState"].get("syncResult", {})
    return "\n".join(one.get("message", "") for one in result.get("resources", ()))
