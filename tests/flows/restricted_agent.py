"""An agent fixture that may only what the chart grants, for given values of the chart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agent.settings.process_settings import KubeSettings, LeaseSettings
from deploy import render
from playground.kubeapi import Access
from playground.kubernetes import ControlPlane
from playground.rights import until_granted
from sandbox.client import Sandbox, SandboxLimits
from tests.flows.agent_fixture import AgentFixture
from tests.unit.deploy.chart_values import Object, environment
from tests.unit.deploy.object_installer import installer

_RIGHTS = {"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
_ACCOUNT = "gitops-agent"


@asynccontextmanager
async def limited_to(
    agent: AgentFixture,
    values: Mapping[str, Any],
    control_plane: ControlPlane,
    sandbox_binary: Path,
    folder: Path,
) -> AsyncIterator[AgentFixture]:
    """The agent with the rights and settings of the chart; both are gone after the block."""
    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as sandbox:
        objects = await render.chart(sandbox, values, agent.namespace)
    async with _installed(control_plane, [one for one in objects if one["kind"] in _RIGHTS]):
        access = await access_of_the_account(agent, control_plane)
        kubeconfig = access.write_kubeconfig(folder / "limited.kubeconfig")
        variables = environment(objects)
        spaces = variables.get("GITOPS_DESTINATION_NAMESPACES", "")
        changed = {
            "kube": KubeSettings(kubeconfig=kubeconfig),
            "destination_namespaces": tuple(filter(None, spaces.split(","))),
            "rights_profile": variables["GITOPS_RIGHTS_PROFILE"],
            "lease": LeaseSettings(enabled=True),
        }
        agent.settings = agent.settings.model_copy(update=changed)
        yield agent


@asynccontextmanager
async def _installed(cluster: ControlPlane, objects: list[Object]) -> AsyncIterator[None]:
    async with installer(cluster.access) as installing:
        assert await installing.apply(objects, dry_run=False) == {}
        try:
            async with cluster.api() as api:
                await until_granted(api, objects)
            yield
        finally:
            for one in objects:
                await installing.delete(one)


async def access_of_the_account(agent: AgentFixture, cluster: ControlPlane) -> Access:
    account = f"/api/v1/namespaces/{agent.namespace}/serviceaccounts/{_ACCOUNT}"
    granted = await agent.api.create(f"{account}/token", {"spec": {}})
    token = granted["status"]["token"]
    return Access(url=cluster.url, ca_file=cluster.access.ca_file, token=token)
