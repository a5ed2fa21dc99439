"""An agent fixture that may only what the chart grants, for given values of the chart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agent.sandbox import Sandbox, SandboxLimits
from agent.settings import KubeSettings, LeaseSettings
from deploy import render
from playground.kubeapi import Access
from playground.kubernetes import ControlPlane
from tests.deploy.cluster import installer
from tests.deploy.variants import Object, environment
from tests.flows.house import House

_RIGHTS = {"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
_ACCOUNT = "gitops-agent"


@asynccontextmanager
async def limited_to(
    house: House,
    values: Mapping[str, Any],
    control_plane: ControlPlane,
    sandbox_binary: Path,
    folder: Path,
) -> AsyncIterator[House]:
    """The house with the rights and settings of the chart; both are gone after the block."""
    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as sandbox:
        objects = await render.chart(sandbox, values, house.namespace)
    async with _installed(control_plane, [one for one in objects if one["kind"] in _RIGHTS]):
        access = await access_of_the_account(house, control_plane)
        kubeconfig = access.write_kubeconfig(folder / "limited.kubeconfig")
        given = environment(objects)
        spaces = given.get("GITOPS_DESTINATION_NAMESPACES", "")
        changed = {
            "kube": KubeSettings(kubeconfig=kubeconfig),
            "destination_namespaces": tuple(filter(None, spaces.split(","))),
            "rights_profile": given["GITOPS_RIGHTS_PROFILE"],
            "lease": LeaseSettings(enabled=True),
        }
        house.settings = house.settings.model_copy(update=changed)
        yield house


@asynccontextmanager
async def _installed(cluster: ControlPlane, objects: list[Object]) -> AsyncIterator[None]:
    async with installer(cluster.access) as installing:
        assert await installing.apply(objects, dry_run=False) == {}
        try:
            yield
        finally:
            for one in objects:
                await installing.delete(one)


async def access_of_the_account(house: House, cluster: ControlPlane) -> Access:
    account = f"/api/v1/namespaces/{house.namespace}/serviceaccounts/{_ACCOUNT}"
    granted = await house.api.create(f"{account}/token", {"spec": {}})
    token = granted["status"]["token"]
    return Access(url=cluster.url, ca_file=cluster.access.ca_file, token=token)
