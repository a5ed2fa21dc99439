"""Each profile of the chart's rights deploys its kinds, and the API server refuses all others.

The chart's own ServiceAccount, roles and bindings are installed; the API server's RBAC decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import pytest

from playground.kubeapi import KubeApi, kube_api
from playground.kubernetes import ControlPlane
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.restricted_agent import access_of_the_account, limited_to

pytestmark = pytest.mark.usefixtures("whole_cluster")

_RBAC = "rbac.authorization.k8s.io"
ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
"""
ROLE_BEYOND = ROLE.replace("reader", "beyond").replace("[pods]", "['pods/exec']")
BINDING_BEYOND = """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: beyond}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: default, namespace: default}]
"""
CLUSTER_ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: TOKEN-reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.TOKEN.example}
spec:
  group: TOKEN.example
  scope: Namespaced
  names: {kind: KIND, plural: PLURAL}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
CARTS = DEFINITION.replace("PLURAL", "carts").replace("KIND", "Cart")
BOXES = DEFINITION.replace("PLURAL", "boxes").replace("KIND", "Box")
CART = "apiVersion: TOKEN.example/v1\nkind: Cart\nmetadata: {name: cart}\n"
BOX = "apiVersion: TOKEN.example/v1\nkind: Box\nmetadata: {name: box}\n"
VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: TOKEN-volume}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /tmp/TOKEN}
"""

NAMESPACED = {
    *(("", it) for it in ("configmaps", "secrets", "services", "serviceaccounts")),
    *(("", it) for it in ("persistentvolumeclaims", "limitranges", "resourcequotas")),
    *(("apps", it) for it in ("deployments", "statefulsets", "daemonsets")),
    *(("batch", it) for it in ("jobs", "cronjobs")),
    *(("networking.k8s.io", it) for it in ("ingresses", "networkpolicies")),
    ("autoscaling", "horizontalpodautoscalers"),
    ("policy", "poddisruptionbudgets"),
}
ROLES = {(_RBAC, it) for it in ("roles", "rolebindings")}
OF_CLUSTER = {
    ("", "namespaces"),
    ("", "persistentvolumes"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    *((_RBAC, it) for it in ("clusterroles", "clusterrolebindings")),
    *(("storage.k8s.io", it) for it in ("storageclasses", "csidrivers")),
    ("scheduling.k8s.io", "priorityclasses"),
    ("networking.k8s.io", "ingressclasses"),
    ("node.k8s.io", "runtimeclasses"),
    ("apiregistration.k8s.io", "apiservices"),
    *(
        ("admissionregistration.k8s.io", it)
        for it in (
            "validatingwebhookconfigurations",
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        )
    ),
}
_WRITES = ("create", "update", "patch", "delete")
_GRANTS = {
    *((verb, _RBAC, it) for verb in ("bind", "escalate") for it in ("roles", "clusterroles")),
    *(("impersonate", "", it) for it in ("users", "groups", "serviceaccounts")),
}
_OPEN_TO_ALL = {
    ("create", "authorization.k8s.io", "selfsubjectaccessreviews"),
    ("create", "authorization.k8s.io", "selfsubjectrulesreviews"),
    ("create", "authentication.k8s.io", "selfsubjectreviews"),
}
_ELSEWHERE = "default"


class Installing(Protocol):
    async def __call__(self, **values: Any) -> AgentFixture: ...


@pytest.fixture
async def installing(
    stopped_agent: AgentFixture, control_plane: ControlPlane, sandbox_binary: Path, tmp_path: Path
) -> AsyncIterator[Installing]:
    """Values of the chart -> the agent with these rights."""
    agent, token = stopped_agent, stopped_agent.namespace

    async with AsyncExitStack() as stack:

        async def install(**values: Any) -> AgentFixture:
            limited = limited_to(agent, values, control_plane, sandbox_binary, tmp_path)
            return await stack.enter_async_context(limited)

        yield install
    for path in (
        f"apis/{_RBAC}/v1/clusterroles/{token}-reader",
        f"apis/apiextensions.k8s.io/v1/customresourcedefinitions/carts.{token}.example",
        f"apis/apiextensions.k8s.io/v1/customresourcedefinitions/boxes.{token}.example",
        f"api/v1/persistentvolumes/{token}-volume",
    ):
        if await agent.api.exists(f"/{path}"):
            await agent.api.delete(f"/{path}")


def within(agent: AgentFixture) -> Mapping[str, Any]:
    return {"scope": "namespaces", "namespaces": [agent.destination]}


def carts(agent: AgentFixture) -> Mapping[str, Any]:
    return {"apiGroups": [f"{agent.namespace}.example"], "resources": ["carts"]}


async def synced(agent: AgentFixture, *manifests: str) -> dict[str, tuple[str, str]]:
    """Kind -> status and message, once the sync has ended."""
    files = {f"web/{number}.yaml": text for number, text in enumerate(manifests)}
    agent.commit({name: text.replace("TOKEN", agent.namespace) for name, text in files.items()})
    policy = {"automated": {}, "retry": {"limit": 0}}
    app_name = agent.namespace  # in the whole cluster, apps of other tests are seen too
    await agent.apply_app(app_name, "web", syncPolicy=policy)
    async with agent.running():
        app = await agent.until(_has_ended, app=app_name)
    results = app["status"]["operationState"]["syncResult"]["resources"]
    return {one["kind"]: (one["status"], one["message"]) for one in results}


def _has_ended(app: Mapping[str, Any]) -> bool:
    phase = app.get("status", {}).get("operationState", {}).get("phase", "")
    return phase in ("Succeeded", "Failed", "Error")


def statuses(results: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {kind: status for kind, (status, _) in results.items()}


async def test_namespaced_deploys_workloads_and_names_right_and_profile_for_the_rest(
    installing: Installing, stopped_agent: AgentFixture
) -> None:
    agent = await installing(destinations=within(stopped_agent))
    results = await synced(agent, config_map("a"), ROLE, CARTS, VOLUME)
    assert statuses(results) == {
        "ConfigMap": "Synced",
        "Role": "SyncFailed",
        "CustomResourceDefinition": "SyncFailed",
        "PersistentVolume": "SyncFailed",
    }
    for kind, right, remedy in (
        ("Role", f"patch roles.{_RBAC}", "rights.roles: true"),
        ("PersistentVolume", "patch persistentvolumes in the cluster", "scope: cluster"),
        (
            "CustomResourceDefinition",
            "patch customresourcedefinitions.apiextensions.k8s.io in the cluster",
            "scope: cluster",
        ),
    ):
        _, message = results[kind]
        assert f"no right to {right}" in message
        assert "rights profile 'namespaced' does not grant it" in message
        assert remedy in message


async def test_namespaced_deploys_roles_where_chosen_that_grant_what_the_agent_holds(
    installing: Installing, stopped_agent: AgentFixture
) -> None:
    agent = await installing(destinations=within(stopped_agent), rights={"roles": True})
    assert statuses(await synced(agent, ROLE)) == {"Role": "Synced"}


@pytest.mark.parametrize("manifest", [ROLE_BEYOND, BINDING_BEYOND], ids=["role", "binding"])
async def test_a_role_that_grants_more_than_the_agent_holds_is_refused_in_words(
    installing: Installing, stopped_agent: AgentFixture, manifest: str
) -> None:
    agent = await installing(destinations=within(stopped_agent), rights={"roles": True})
    ((status, message),) = (await synced(agent, manifest)).values()
    assert status == "SyncFailed"
    assert "can grant only rights that it holds itself" in message
    assert "profile 'namespaced'" in message


async def test_cluster_deploys_role_definition_custom_resource_and_volume_in_one_sync(
    installing: Installing, stopped_agent: AgentFixture
) -> None:
    agent = await installing(rights={"profile": "cluster", "kinds": [carts(stopped_agent)]})
    results = await synced(agent, ROLE, CLUSTER_ROLE, CARTS, CART, VOLUME)
    kinds = ("Role", "ClusterRole", "CustomResourceDefinition", "Cart", "PersistentVolume")
    assert statuses(results) == dict.fromkeys(kinds, "Synced")
    assert await agent.get(f"{agent.namespace}.example/v1/carts/cart") is not None


async def test_a_custom_resource_that_was_not_named_is_refused_in_words(
    installing: Installing,
) -> None:
    agent = await installing(rights={"profile": "cluster"})
    results = await synced(agent, BOXES, BOX)
    assert statuses(results) == {"CustomResourceDefinition": "Synced", "Box": "SyncFailed"}
    _, message = results["Box"]
    assert f"no right to patch boxes.{agent.namespace}.example" in message
    assert "profile 'cluster'" in message
    assert "rights.kinds" in message


async def test_kinds_deploys_the_chosen_kinds_and_no_other(
    installing: Installing,
) -> None:
    chosen = {"apiGroups": [""], "resources": ["persistentvolumes"]}
    agent = await installing(rights={"profile": "kinds", "kinds": [chosen]})
    results = await synced(agent, VOLUME, config_map("a"))
    assert statuses(results) == {"PersistentVolume": "Synced", "ConfigMap": "SyncFailed"}
    _, message = results["ConfigMap"]
    assert f"no right to patch configmaps in namespace '{agent.destination}'" in message
    assert "profile 'kinds'" in message


@pytest.mark.parametrize("profile", ["namespaced", "roles", "cluster", "kinds", "read-only"])
async def test_the_account_of_a_profile_may_write_its_kinds_and_nothing_else(
    installing: Installing, stopped_agent: AgentFixture, control_plane: ControlPlane, profile: str
) -> None:
    """Asked with the agent's own token, of every kind and subresource that the cluster serves."""
    chosen = {"apiGroups": [""], "resources": ["persistentvolumes"]}
    here, anywhere = within(stopped_agent), {"createNamespaces": False}
    values, kinds, everywhere = {
        "namespaced": ({"destinations": here}, NAMESPACED, False),
        "roles": ({"destinations": here, "rights": {"roles": True}}, NAMESPACED | ROLES, False),
        "cluster": (
            {"destinations": anywhere, "rights": {"profile": "cluster"}},
            NAMESPACED | ROLES | OF_CLUSTER,
            True,
        ),
        "kinds": (
            {"destinations": anywhere, "rights": {"profile": "kinds", "kinds": [chosen]}},
            {("", "persistentvolumes")},
            True,
        ),
        "read-only": ({"destinations": {**here, "write": False}}, set(), False),
    }[profile]
    agent = await installing(**values)
    access = await access_of_the_account(agent, control_plane)
    async with kube_api(access) as api:
        served = await served_resources(api)
        asked = {*((verb, *it) for verb, it in product(_WRITES, served)), *_GRANTS}
        held = await allowed(api, asked, agent.destination)
        elsewhere = await allowed(api, asked, _ELSEWHERE)
    expected = {*((verb, *it) for verb, it in product(_WRITES, kinds)), *_OPEN_TO_ALL}
    assert kinds <= served
    assert held == expected
    assert elsewhere == (expected if everywhere else _OPEN_TO_ALL)


async def served_resources(api: KubeApi) -> set[tuple[str, str]]:
    """Group and plural, subresources too, of all that discovery tells."""
    groups = (await api.get("/apis"))["groups"]
    paths = {"/api/v1": ""}
    paths |= {
        f"/apis/{version['groupVersion']}": group["name"]
        for group in groups
        for version in group["versions"]
        if not group["name"].endswith(".example")
    }
    lists = await asyncio.gather(*(api.get(path) for path in paths))
    return {
        (group, one["name"])
        for group, found in zip(paths.values(), lists, strict=True)
        for one in found["resources"]
    }


async def allowed(
    api: KubeApi, asked: Iterable[tuple[str, str, str]], namespace: str
) -> set[tuple[str, str, str]]:
    at_once = asyncio.Semaphore(8)

    async def may(verb: str, group: str, name: str) -> bool:
        resource, _, subresource = name.partition("/")
        attributes = {
            "verb": verb,
            "group": group,
            "resource": resource,
            "subresource": subresource,
            "namespace": namespace,
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        async with at_once:
            path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
            answer = await api.create(path, body)
        return bool(answer["status"]["allowed"])

    ordered = sorted(asked)
    verdicts = await asyncio.gather(*(may(*one) for one in ordered))
    return {one for one, verdict in zip(ordered, verdicts, strict=True) if verdict}
