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
from cli.cluster_probe import rights
from playground.kubernetes import ControlPlane
from tests.deploy.variants import Object
from tests.flows.house import SERVER, House, config_map
from tests.flows.limited import limited_to
from tests.support import eventually

pytestmark = pytest.mark.flow

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


def destinations(house: House, scope: str) -> Mapping[str, Any]:
    """`cluster`, `namespaces`, or `namespaces+`: with a look around."""
    if scope == "cluster":
        return {}
    named = {"scope": "namespaces", "namespaces": [house.destination]}
    return {"destinations": {**named, "readCluster": scope.endswith("+")}}


@pytest.fixture(params=["cluster", "namespaces"])
async def scope(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def limited(
    quiet_house: House,
    scope: str,
    control_plane: ControlPlane,
    sandbox_binary: Path,
    tmp_path: Path,
) -> AsyncIterator[House]:
    """A house that knows only what the chart says, and may only what the chart grants."""
    values = destinations(quiet_house, scope)
    async with limited_to(quiet_house, values, control_plane, sandbox_binary, tmp_path) as house:
        yield house


async def test_a_push_is_synced_pruned_and_deleted_with_these_rights(limited: House) -> None:
    house = limited
    house.commit({"web/a.yaml": _WORKLOAD, "web/b.yaml": config_map("b", key="1")})
    await house.apply_app("web", "web", syncPolicy=_HEALING, metadata=_FINALIZER)
    async with house.running():
        app = await house.until_synced("web")
        kinds = {one["kind"] for one in app["status"]["resources"]}
        assert kinds == {"Deployment", "Service", "ConfigMap"}
        await edit(house)
        await eventually(lambda: has_its_key(house), what="the edit is healed")
        house.commit({"web/b.yaml": None})
        await house.patch_app("web", {"metadata": {"annotations": _REFRESH}})
        await eventually(lambda: is_gone(house, "configmaps/b"), what="the ConfigMap is pruned")
        await house.delete_app("web")
        await eventually(lambda: is_gone(house, "apps/v1/deployments/web"), what="all is deleted")


async def test_replacing_is_within_these_rights_too(limited: House) -> None:
    house = limited
    house.commit({"web/b.yaml": config_map("b", key="0")})
    policy = {**_HEALING, "syncOptions": ["Replace=true"]}
    await house.apply_app("web", "web", syncPolicy=policy)
    async with house.running():
        await house.until_synced("web")
        house.commit({"web/b.yaml": config_map("b", key="1")})
        await house.patch_app("web", {"metadata": {"annotations": _REFRESH}})
        await eventually(lambda: has_its_key(house), what="the ConfigMap is replaced")


_REFRESH = {"argocd.argoproj.io/refresh": "normal"}


async def edit(house: House) -> None:
    path = f"/api/v1/namespaces/{house.destination}/configmaps/b"
    await house.api.patch(path, {"data": {"key": "edited"}})


async def has_its_key(house: House) -> bool:
    found = await house.get("configmaps/b")
    return found is not None and found["data"] == {"key": "1"}


async def is_gone(house: House, path: str) -> bool:
    return await house.get(path) is None


async def test_the_lease_is_held_and_nothing_that_is_needed_is_missing(limited: House) -> None:
    async with limited.running():
        lease = await limited.api.get(
            f"/apis/coordination.k8s.io/v1/namespaces/{limited.namespace}/leases/gitops-agent"
        )
        assert lease["spec"]["holderIdentity"] == "flow-test"
        wanted = tuple(rights(limited.settings))
        assert await missing(limited.parts.client, wanted) == ()


async def test_kinds_without_a_right_are_told_and_hold_up_nothing(limited: House) -> None:
    limited.commit({"web/b.yaml": config_map("b")})
    await limited.apply_app("web", "web", syncPolicy=_HEALING)
    with capture_logs() as logs:
        async with limited.running():
            await limited.until_synced("web")
            unlisted = set(limited.parts.live.unlisted())
    told = [one for one in logs if one["event"] == "kind not watched: no right to"]
    assert {one["log_level"] for one in told} == {"warning"}
    assert "Role.rbac.authorization.k8s.io" in {one["kind"] for one in told}
    assert "rbac.authorization.k8s.io/Role" in unlisted
    granted = {"/Pod", "/Secret", "apps/Deployment", "apps/ReplicaSet", "batch/Job"}
    assert not unlisted & granted


async def test_an_object_that_may_not_be_written_says_so_and_the_others_are(
    limited: House,
) -> None:
    limited.commit({"web/a.yaml": _ROLE, "web/b.yaml": config_map("b")})
    policy = {"automated": {}, "retry": {"limit": 0}}
    await limited.apply_app("web", "web", syncPolicy=policy)
    async with limited.running():
        app = await limited.until(lambda app: _phase(app) == "Failed", app="web")
    results = app["status"]["operationState"]["syncResult"]["resources"]
    said = {one["name"]: one["message"] for one in results}
    assert said["b"] == "created"
    assert "cannot" in said["more"]
    assert "no right to patch roles.rbac.authorization.k8s.io" in said["more"]
    assert "profile 'namespaced'" in said["more"]
    assert "rights.roles: true" in said["more"]


def _phase(app: Mapping[str, Any]) -> str:
    return str(app.get("status", {}).get("operationState", {}).get("phase", ""))


_CREATING = {**_HEALING, "syncOptions": ["CreateNamespace=true"]}


@pytest.mark.parametrize("scope", ["cluster"])
async def test_a_namespace_is_created_where_the_chart_allows_it(limited: House) -> None:
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
    limited: House,
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
    limited: House,
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
