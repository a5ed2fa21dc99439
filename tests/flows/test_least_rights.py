"""The agent does its work with exactly the rights that the chart grants, and says what it may not.

The chart's own ServiceAccount, roles and bindings are installed; the API server's RBAC decides.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from agent.kube.rights import missing
from cli.local.cluster_probe import rights
from playground.kubernetes import ControlPlane
from tests.flows.agent_fixture import SERVER, AgentFixture, config_map
from tests.flows.layouts import layout_values
from tests.flows.restricted_agent import limited_to
from tests.support import eventually
from tests.unit.deploy.chart_values import Object

pytestmark = pytest.mark.usefixtures("whole_cluster")

_FINALIZER = {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}
_HEALING = {"automated": {"prune": True, "selfHeal": True}}

_WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example/web}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""
_ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: more}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
"""


def destinations(agent: AgentFixture, scope: str) -> Mapping[str, Any]:
    """`cluster`, `namespaces`, or `namespaces+`: with a look around."""
    if scope == "cluster":
        return layout_values("in-cluster/values.yaml")
    named = {"scope": "namespaces", "namespaces": [agent.destination]}
    return {"destinations": {**named, "readCluster": scope.endswith("+")}}


@pytest.fixture(params=["cluster", "namespaces"])
async def scope(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def limited(
    stopped_agent: AgentFixture,
    scope: str,
    control_plane: ControlPlane,
    sandbox_binary: Path,
    tmp_path: Path,
) -> AsyncIterator[AgentFixture]:
    """An agent that knows only what the chart says, and may only what the chart grants."""
    values = destinations(stopped_agent, scope)
    async with limited_to(stopped_agent, values, control_plane, sandbox_binary, tmp_path) as agent:
        yield agent


async def test_a_push_is_synced_pruned_and_deleted_with_these_rights(limited: AgentFixture) -> None:
    agent = limited
    agent.commit({"web/a.yaml": _WORKLOAD, "web/b.yaml": config_map("b", key="1")})
    await agent.apply_app("web", "web", syncPolicy=_HEALING, metadata=_FINALIZER)
    async with agent.running():
        app = await agent.until_synced("web")
        kinds = {one["kind"] for one in app["status"]["resources"]}
        assert kinds == {"Deployment", "Service", "ConfigMap"}
        await edit(agent)
        await eventually(lambda: has_its_key(agent), what="the edit is healed")
        agent.commit({"web/b.yaml": None})
        await agent.patch_app("web", {"metadata": {"annotations": _REFRESH}})
        await agent.until_gone("configmaps/b")
        await agent.delete_app("web")
        await agent.until_gone("apps/v1/deployments/web")


async def test_replacing_is_within_these_rights_too(limited: AgentFixture) -> None:
    agent = limited
    agent.commit({"web/b.yaml": config_map("b", key="0")})
    policy = {**_HEALING, "syncOptions": ["Replace=true"]}
    await agent.apply_app("web", "web", syncPolicy=policy)
    async with agent.running():
        await agent.until_synced("web")
        agent.commit({"web/b.yaml": config_map("b", key="1")})
        await agent.patch_app("web", {"metadata": {"annotations": _REFRESH}})
        await eventually(lambda: has_its_key(agent), what="the ConfigMap is replaced")


_REFRESH = {"argocd.argoproj.io/refresh": "normal"}


async def edit(agent: AgentFixture) -> None:
    path = f"/api/v1/namespaces/{agent.destination}/configmaps/b"
    await agent.api.patch(path, {"data": {"key": "edited"}})


async def has_its_key(agent: AgentFixture) -> bool:
    found = await agent.get("configmaps/b")
    return found is not None and found["data"] == {"key": "1"}


async def test_the_lease_is_held_and_nothing_that_is_needed_is_missing(
    limited: AgentFixture,
) -> None:
    async with limited.running():
        lease = await limited.api.get(
            f"/apis/coordination.k8s.io/v1/namespaces/{limited.namespace}/leases/gitops-agent"
        )
        assert lease["spec"]["holderIdentity"] == "flow-test"
        needed = tuple(rights(limited.settings))
        assert await missing(limited.parts.client, needed) == ()


async def test_kinds_without_a_right_are_told_and_hold_up_nothing(limited: AgentFixture) -> None:
    limited.commit({"web/b.yaml": config_map("b")})
    await limited.apply_app("web", "web", syncPolicy=_HEALING)
    with capture_logs() as logs:
        async with limited.running():
            await limited.until_synced("web")
            unlisted = set(limited.parts.live.unlisted())
    warnings = [one for one in logs if one["event"] == "kind not watched: no right to"]
    assert {one["log_level"] for one in warnings} == {"warning"}
    assert "Role.rbac.authorization.k8s.io" in {one["kind"] for one in warnings}
    assert "rbac.authorization.k8s.io/Role" in unlisted
    granted = {"/Pod", "/Secret", "apps/Deployment", "apps/ReplicaSet", "batch/Job"}
    assert not unlisted & granted


async def test_an_object_that_may_not_be_written_says_so_and_the_others_are(
    limited: AgentFixture,
) -> None:
    limited.commit({"web/a.yaml": _ROLE, "web/b.yaml": config_map("b")})
    policy = {"automated": {}, "retry": {"limit": 0}}
    await limited.apply_app("web", "web", syncPolicy=policy)
    async with limited.running():
        app = await limited.until(lambda app: _phase(app) == "Failed", app="web")
    results = app["status"]["operationState"]["syncResult"]["resources"]
    logged = {one["name"]: one["message"] for one in results}
    assert logged["b"] == "created"
    assert "cannot" in logged["more"]
    assert "no right to patch roles.rbac.authorization.k8s.io" in logged["more"]
    assert "profile 'namespaced'" in logged["more"]
    assert "rights.roles: true" in logged["more"]


def _phase(app: Mapping[str, Any]) -> str:
    return str(app.get("status", {}).get("operationState", {}).get("phase", ""))


_CREATING = {**_HEALING, "syncOptions": ["CreateNamespace=true"]}


@pytest.mark.parametrize("scope", ["cluster"])
async def test_a_namespace_is_created_where_the_chart_allows_it(limited: AgentFixture) -> None:
    new = f"{limited.destination}-new"
    limited.commit({"web/b.yaml": config_map("b")})
    there = {"server": SERVER, "namespace": new}
    await limited.apply_app("web", "web", syncPolicy=_CREATING, destination=there)
    async with limited.running():
        await limited.until_synced("web")
    assert await limited.api.exists(f"/api/v1/namespaces/{new}/configmaps/b")
    await limited.api.delete(f"/api/v1/namespaces/{new}")


@pytest.mark.parametrize("scope", ["namespaces"])
async def test_without_rights_in_the_cluster_creating_a_namespace_is_refused_in_words(
    limited: AgentFixture,
) -> None:
    limited.commit({"web/b.yaml": config_map("b")})
    policy = {**_CREATING, "retry": {"limit": 0}}
    await limited.apply_app("web", "web", syncPolicy=policy)
    async with limited.running():
        app = await limited.until(lambda app: _phase(app) == "Failed", app="web")
    (result,) = app["status"]["operationState"]["syncResult"]["resources"]
    assert (result["kind"], result["status"]) == ("Namespace", "SyncFailed")
    assert 'cannot patch resource "namespaces"' in result["message"]


@pytest.mark.parametrize("scope", ["namespaces+"])
async def test_with_a_look_around_namespaces_that_exist_and_new_kinds_are_known(
    limited: AgentFixture,
) -> None:
    limited.commit({"web/b.yaml": config_map("b")})
    await limited.apply_app("web", "web", syncPolicy=_CREATING)
    async with limited.running():
        await limited.until_synced("web")
        group = f"{limited.namespace}.example"
        path = f"{_DEFINITIONS}/things.{group}"
        await limited.api.apply(path, definition_of_things(group))
        kinds = limited.parts.live.kind
        await eventually(lambda: kinds(group, "Thing"), what="the new kind is known")
        await limited.api.delete(path)


_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition_of_things(group: str) -> Object:
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": "Thing", "plural": "things"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
