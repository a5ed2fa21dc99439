"""An agent in this process, on the real parts: what a flow test speaks to.

It watches two namespaces of its own test (control and destination) and has streams of its own on
the shared NATS, so that tests do not hear each other.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent.dependencies import AgentDependencies, open_dependencies
from agent.lifecycle import Agent
from agent.settings import Settings
from agent.store.application_writes import version_of
from bus.events import Event
from bus.identity import AppKey
from handlers.application.application import Application
from playground.githost import HostedRepository
from playground.kubeapi import KubeApi, KubeApiError
from tests.support import eventually

APPLICATIONS = "/apis/argoproj.io/v1alpha1/namespaces/{}/applications"
SERVER = "https://kubernetes.default.svc"


@dataclass(slots=True, kw_only=True)
class AgentFixture:
    settings: Settings
    repository: HostedRepository
    api: KubeApi
    namespace: str
    """Of the control plane: Applications and Secrets."""
    destination: str
    agent: Agent = field(init=False)

    @property
    def parts(self) -> AgentDependencies:
        return self.agent.parts

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Agent]:
        """The agent acts inside the block, and has drained after it."""
        async with open_dependencies(self.settings) as parts:
            self.agent = Agent(parts=parts, identity="flow-test")
            task = asyncio.create_task(self.agent.run())
            try:
                await eventually(lambda: self.agent.acting.is_set() or task.done(), within=120)
                assert self.agent.acting.is_set(), task.exception()
                yield self.agent
            finally:
                self.agent.stop.set()
                await asyncio.wait_for(task, 120)

    async def until_known(self, fact: Callable[[AgentDependencies], object], what: str) -> None:
        """Wait until the agent knows what was written, where it acts in this process.

        A watch tells it of the write a moment later, and each kind of object has a watch of its
        own: what is written next, or asked of the agent, may come first.
        """
        if self._acts:
            await eventually(lambda: not self._acts or fact(self.parts), what=what)

    @property
    def _acts(self) -> bool:
        return hasattr(self, "agent") and self.agent.acting.is_set()

    def commit(self, changes: Mapping[str, str | None], *, branch: str = "") -> str:
        """Write to the repository; a push is told by its webhook, see `pushed`."""
        return self.repository.commit(changes, branch=branch)

    async def apply_app(self, name: str, path: str, **spec: Any) -> None:
        """Create or update an Application on `path` of the repository, and have it known."""
        body = self.app_manifest(name, path, **spec)
        await self._until_app_known(await self.api.apply(f"{self._applications}/{name}", body))

    def app_manifest(self, name: str, path: str, **spec: Any) -> dict[str, Any]:
        """An Application that deploys `path` into the destination namespace."""
        source = {"repoURL": self.repository.url, "path": path, "targetRevision": "main"}
        return {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {"name": name, "namespace": self.namespace, **spec.pop("metadata", {})},
            "spec": {
                "project": "default",
                "source": {**source, **spec.pop("source", {})},
                "destination": {"server": SERVER, "namespace": self.destination},
                **spec,
            },
        }

    async def patch_app(self, name: str, patch: Mapping[str, Any]) -> None:
        """Change an Application, and have the change known."""
        await self._until_app_known(await self.api.patch(f"{self._applications}/{name}", patch))

    async def _until_app_known(self, written: Mapping[str, Any]) -> None:
        metadata = written["metadata"]
        key = AppKey(metadata["namespace"], metadata["name"])

        def is_known(parts: AgentDependencies) -> bool:
            known = parts.applications.get(key)
            if known is None:  # one that was let go may be gone already
                return "deletionTimestamp" in metadata
            return version_of(known) >= int(metadata["resourceVersion"])

        await self.until_known(is_known, what=f"{key} as it was written")

    async def apply_project(
        self,
        name: str,
        spec: Mapping[str, Any],
        *,
        labels: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Create or replace an AppProject, and have it known."""
        written = await self.api.apply(
            f"/apis/argoproj.io/v1alpha1/namespaces/{self.namespace}/appprojects/{name}",
            {
                "apiVersion": "argoproj.io/v1alpha1",
                "kind": "AppProject",
                "metadata": {"name": name, "namespace": self.namespace, "labels": {**labels}},
                "spec": spec,
            },
        )
        version = int(written["metadata"]["resourceVersion"])

        def is_known(parts: AgentDependencies) -> bool:
            known = [one.metadata for one in parts.applications.projects()]
            return any(one.name == name and int(one.resource_version) >= version for one in known)

        await self.until_known(is_known, what=f"the AppProject {name} as it was written")

    async def apply_settings(self, name: str, data: Mapping[str, str]) -> None:
        """Create or replace a ConfigMap of Argo CD's settings, and have it known."""
        metadata = {"name": name, "namespace": self.namespace}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {**data}}
        await self.api.apply(f"/api/v1/namespaces/{self.namespace}/configmaps/{name}", body)
        await self.until_known(
            lambda parts: parts.argo_settings.config_maps.last_read(name) == data,
            what=f"the ConfigMap {name} as it was written",
        )

    async def delete_app(self, name: str) -> None:
        await self.api.delete(f"{self._applications}/{name}")

    async def app(self, name: str) -> dict[str, Any]:
        """The Application as the API server has it."""
        return await self.api.get(f"{self._applications}/{name}")

    async def until(
        self, fact: Callable[[dict[str, Any]], Any], *, app: str, within: float = 120
    ) -> dict[str, Any]:
        """Wait until `fact` holds for the Application as the API server has it."""
        seen: dict[str, Any] = {}

        async def holds() -> bool:
            nonlocal seen
            seen = await self.app(app)
            return bool(fact(seen))

        try:
            await eventually(holds, within=within)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{app}: {seen.get('status')}") from error
        return seen

    async def until_synced(
        self, name: str, *, health: str = "Healthy", within: float = 120
    ) -> dict[str, Any]:
        return await self.until(lambda app: is_synced(app, health=health), app=name, within=within)

    async def until_synced_to(self, name: str, revision: str) -> dict[str, Any]:
        return await self.until(
            lambda app: is_synced(app) and app["status"]["sync"].get("revision") == revision,
            app=name,
        )

    def known(self, name: str) -> Application | None:
        """The Application as the agent has it."""
        return self.parts.applications.get(AppKey(self.namespace, name))

    async def get(self, path: str) -> dict[str, Any] | None:
        """`configmaps/x` or `apps/v1/deployments/x` of the destination namespace, or None."""
        *api, plural, name = path.split("/")
        root = f"/apis/{'/'.join(api)}" if api else "/api/v1"
        try:
            return await self.api.get(f"{root}/namespaces/{self.destination}/{plural}/{name}")
        except KubeApiError as error:
            if error.code == 404:
                return None
            raise

    async def until_gone(self, path: str) -> None:
        """Wait for the end of an object, named as for `get`.

        What is pruned goes when the cluster's garbage collector gets to it, which may be after the
        end of the operation.
        """

        async def is_gone() -> bool:
            return await self.get(path) is None

        await eventually(is_gone, what=f"the end of {path}")

    async def publish(self, *events: Event) -> None:
        await self.parts.bus.publish(*events)

    @property
    def _applications(self) -> str:
        return APPLICATIONS.format(self.namespace)


def is_synced(app: Mapping[str, Any], *, health: str = "Healthy") -> bool:
    """Whether nothing differs, and no operation is asked for or under way."""
    status = app.get("status", {})
    return bool(
        status.get("sync", {}).get("status") == "Synced"
        and status.get("health", {}).get("status") == health
        and status.get("operationState", {}).get("phase") != "Running"
        and "operation" not in app
    )


def conditions(app: Mapping[str, Any]) -> dict[str, str]:
    """Type -> message."""
    return {one["type"]: one["message"] for one in app.get("status", {}).get("conditions", [])}


def config_map(name: str, **data: str) -> str:
    lines = "".join(f"  {key}: {value!r}\n" for key, value in data.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n{lines}"


def gate(name: str) -> str:
    """A Service whose load balancer comes when the test says so: until then it is not healthy."""
    return (
        f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\n"
        "spec: {type: LoadBalancer, selector: {app: none}, ports: [{port: 80}]}\n"
    )


async def open_gate(agent: AgentFixture, name: str) -> None:
    """As the controller of a cloud does, once the Service is there."""
    await eventually(lambda: agent.get(f"services/{name}"), what=f"the gate {name}")
    path = f"/api/v1/namespaces/{agent.destination}/services/{name}/status"
    balancer = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    await agent.api.patch(path, {"status": balancer})


def state_folder(base: Path) -> Path:
    folder = base / "state"
    folder.mkdir(exist_ok=True)
    return folder
