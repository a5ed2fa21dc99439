"""A real API server takes what we install: strictly, in a restricted namespace, unwarned."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from deploy import render
from playground.kubernetes import ControlPlane
from sandbox.client import Sandbox
from tests.support import eventually
from tests.unit.deploy.chart_values import SHOPS, VARIANTS, Object
from tests.unit.deploy.object_installer import Installer, installer

pytestmark = pytest.mark.usefixtures("whole_cluster")

RESTRICTED = {
    f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")
}


@pytest.fixture
async def installing(control_plane: ControlPlane) -> AsyncIterator[Installer]:
    async with installer(control_plane.access) as found:
        yield found


def space(name: str) -> Object:
    meta = {"name": name, "labels": RESTRICTED}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}


@pytest.mark.parametrize("variant", VARIANTS)
async def test_every_variant_of_the_chart_is_accepted(
    sandbox: Sandbox, installing: Installer, namespace: str, variant: str
) -> None:
    spaces = [space(name) for name in (namespace, *SHOPS)]
    assert await installing.apply(spaces, dry_run=False) == {}
    objects = await render.chart(sandbox, VARIANTS[variant], namespace)
    assert await installing.apply(objects, dry_run=True) == {}


async def test_a_pod_that_is_not_restricted_would_be_warned_of(
    sandbox: Sandbox, installing: Installer, namespace: str
) -> None:
    """The two tests beside this one would see it."""
    await installing.apply([space(namespace)], dry_run=False)
    objects = await render.chart(sandbox, {}, namespace)
    for one in objects:
        if one["kind"] == "StatefulSet":
            del one["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"]
    messages = await installing.apply(objects, dry_run=True)
    assert messages.keys() == {"StatefulSet/gitops-nats"}


async def test_the_base_is_applied_and_its_pods_are_admitted(
    sandbox: Sandbox, installing: Installer
) -> None:
    objects = await render.base(sandbox)
    try:
        assert await installing.apply(objects, dry_run=False) == {}
        assert await installing.apply(objects, dry_run=False) == {}
        await eventually(lambda: has_pods(installing), what="a pod of the agent and one of NATS")
        await eventually(lambda: serves_applications(installing), what="the definition is served")
    finally:
        for one in objects:
            if one["kind"] in ("ClusterRole", "ClusterRoleBinding", "Namespace"):
                await installing.delete(one)


async def has_pods(installing: Installer) -> bool:
    found = await installing.get(f"/api/v1/namespaces/{render.NAMESPACE}/pods")
    parts = {one["metadata"]["labels"].get("app.kubernetes.io/component") for one in found["items"]}
    return parts >= {"agent", "nats"}


async def serves_applications(installing: Installer) -> bool:
    found = await installing.get("/apis/argoproj.io/v1alpha1/applications")
    return bool(found["kind"] == "ApplicationList")
