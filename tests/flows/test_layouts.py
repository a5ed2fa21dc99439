"""Each documented layout works as it stands in deploy/layouts, with the API servers' own RBAC."""

from __future__ import annotations

import uuid
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from playground.background import BackgroundLoop
from playground.kubeapi import Access, KubeApiError, kube_api
from playground.kubernetes import BreakableControlPlane, ControlPlane
from playground.kubernetes import control_plane as open_control_plane
from playground.rights import until_granted
from tests.flows.agent_fixture import AgentFixture, conditions, config_map
from tests.flows.agent_process import agent_process
from tests.flows.layouts import layout_environment, layout_objects, layout_values
from tests.flows.restricted_agent import access_of_the_account, limited_to
from tests.support import eventually
from tests.unit.deploy.object_installer import installer

pytestmark = pytest.mark.usefixtures("whole_cluster")

HEALING = {"automated": {"prune": True, "selfHeal": True}}
ONCE = {"automated": {}, "retry": {"limit": 0}}
RBAC = "rbac.authorization.k8s.io"
ROLE = f"apiVersion: {RBAC}/v1\nkind: ClusterRole\nmetadata: {{name: beyond}}\nrules: []\n"
OF_THIS_MACHINE = {
    "GITOPS_ACCOUNT",
    "GITOPS_AGENT",
    "GITOPS_NAMESPACE",
    "GITOPS_KUBE_KUBECONFIG",
    "GITOPS_STATE_DIR",
    "GITOPS_HTTP_PORT",
    "GITOPS_HTTP_METRICS_PORT",
}
"""Settings whose documented values no test can have: each test has others."""


@pytest.fixture(scope="module")
def spokes(parts_folder: Path, control_plane_binaries: Path) -> Iterator[tuple[ControlPlane, ...]]:
    """Two clusters beside the shared one: an API to write to, without controllers."""
    with BackgroundLoop("spokes") as loop:
        yield tuple(
            loop.enter(
                open_control_plane(parts_folder / name, control_plane_binaries, controllers=False)
            )
            for name in ("staging", "prod")
        )


class ChartRights:
    """Makes agents that may only what the chart grants for given values."""

    def __init__(
        self, stack: AsyncExitStack, cluster: ControlPlane, sandbox: Path, folder: Path
    ) -> None:
        self._stack = stack
        self._cluster = cluster
        self._sandbox = sandbox
        self._folder = folder

    async def give(self, agent: AgentFixture, values: Mapping[str, Any]) -> AgentFixture:
        folder = self._folder / agent.namespace
        folder.mkdir(exist_ok=True)
        limited = limited_to(agent, values, self._cluster, self._sandbox, folder)
        return await self._stack.enter_async_context(limited)


@pytest.fixture
async def chart_rights(
    control_plane: ControlPlane, sandbox_binary: Path, tmp_path: Path
) -> AsyncIterator[ChartRights]:
    async with AsyncExitStack() as stack:
        yield ChartRights(stack, control_plane, sandbox_binary, tmp_path)


@asynccontextmanager
async def another_namespace(agent: AgentFixture, name: str) -> AsyncIterator[str]:
    await agent.api.create_namespace(name)
    yield name
    await agent.api.delete(f"/api/v1/namespaces/{name}")


async def test_an_agent_outside_of_its_cluster_acts_by_the_account_of_its_kubeconfig(
    stopped_agent: AgentFixture, chart_rights: ChartRights
) -> None:
    agent = await chart_rights.give(stopped_agent, layout_values("outside/values.yaml"))
    documented = layout_environment("outside/agent.env")
    assert documented.keys() >= OF_THIS_MACHINE
    agent.commit({"web/web.yaml": config_map("web", a="1")})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    others = {name: it for name, it in documented.items() if name not in OF_THIS_MACHINE}
    async with agent_process(agent, GITOPS_LEASE_ENABLED="true", **others):
        await agent.until_synced("web")


async def test_an_agent_without_any_right_in_the_cluster_serves_several_namespaces(
    stopped_agent: AgentFixture, chart_rights: ChartRights, control_plane: ControlPlane
) -> None:
    async with another_namespace(stopped_agent, f"{stopped_agent.destination}-db") as database:
        names = {"shop": stopped_agent.destination, "shop-db": database}
        values = layout_values("namespaced/values.yaml", **names)
        agent = await chart_rights.give(stopped_agent, values)
        apps = {"web": agent.destination, "db": database, "beyond": "default"}
        agent.commit({f"{app}/{app}.yaml": config_map(app, a="1") for app in apps})
        for app, namespace in apps.items():
            destination = {"name": "in-cluster", "namespace": namespace}
            await agent.apply_app(app, app, destination=destination, syncPolicy=ONCE)
        async with agent.running():
            await agent.until_synced("web")
            await agent.until_synced("db")
            words = 'cannot patch resource "configmaps" in API group "" in the namespace "default"'
            await agent.until(lambda app: words in problems(app), app="beyond")
        maps = f"/api/v1/namespaces/{database}/configmaps/db"
        assert (await agent.api.get(maps))["data"] == {"a": "1"}
        async with kube_api(await access_of_the_account(agent, control_plane)) as account:
            with pytest.raises(KubeApiError, match="forbidden"):
                await account.get("/api/v1/namespaces")


async def test_one_agent_deploys_to_three_clusters_by_an_account_in_each(
    stopped_agent: AgentFixture,
    chart_rights: ChartRights,
    spokes: tuple[BreakableControlPlane, ...],
) -> None:
    agent = await chart_rights.give(stopped_agent, layout_values("hub-and-spoke/values.yaml"))
    namespace = f"apps-{uuid.uuid4().hex[:8]}"
    agent.commit(
        {f"{app}/web.yaml": config_map(app, a="1") for app in ("hub", "staging", "prod")}
        | {"role/role.yaml": ROLE}
    )
    for name, cluster in zip(("staging", "prod"), spokes, strict=True):
        await install(cluster, layout_objects("hub-and-spoke/destination.yaml", {}))
        token = await token_of(cluster, "plumbline", "deployer")
        names = {"staging": name, "argocd": agent.namespace}
        names |= {"https://staging.example:6443": cluster.url, "TOKEN": token, "CA": ca(cluster)}
        names |= {"cluster-staging": f"cluster-{name}"}
        await connect(agent, "hub-and-spoke/cluster-secret.yaml", names)
        there = {"name": name, "namespace": namespace}
        policy = {**HEALING, "syncOptions": ["CreateNamespace=true"]}
        await agent.apply_app(name, name, destination=there, syncPolicy=policy)
    await agent.apply_app("hub", "hub", syncPolicy=HEALING)
    beyond = {"name": "prod", "namespace": namespace}
    await agent.apply_app("role", "role", destination=beyond, syncPolicy=ONCE)
    async with agent.running():
        for app in ("hub", "staging", "prod"):
            await agent.until_synced(app)
        words = (
            'User "system:serviceaccount:plumbline:deployer" cannot patch resource "clusterroles"'
        )
        await agent.until(lambda app: words in problems(app), app="role")
        async with spokes[0].api() as api:
            path = f"/api/v1/namespaces/{namespace}/configmaps/staging"
            await api.patch(path, {"data": {"a": "by hand"}})

            async def healed() -> bool:
                return bool((await api.get(path))["data"] == {"a": "1"})

            await eventually(healed, what="the edit in the second cluster healed")
    for cluster in spokes:
        async with cluster.api() as api:
            assert not await api.exists("/apis/argoproj.io/v1alpha1/applications")
            assert not await api.exists(f"/apis/{RBAC}/v1/clusterroles/beyond")


async def test_several_agents_share_a_cluster_and_reach_nothing_of_each_other(
    stopped_agent: AgentFixture, chart_rights: ChartRights
) -> None:
    team = stopped_agent
    async with (
        another_namespace(team, f"{team.namespace}-b") as namespace,
        another_namespace(team, f"{team.namespace}-b-apps") as destination,
    ):
        settings = team.settings.model_copy(
            update={
                "agent": f"{team.settings.agent}b",
                "namespace": namespace,
                "state_dir": team.settings.state_dir / "b",
            }
        )
        other = replace_agent(team, settings=settings, namespace=namespace, destination=destination)
        a = await chart_rights.give(
            team, layout_values("several-agents/team-a.yaml", shop=team.destination)
        )
        b = await chart_rights.give(
            other, layout_values("several-agents/team-b.yaml", billing=destination)
        )
        a.commit({f"{app}/{app}.yaml": config_map(app, a="1") for app in ("own", "across")})
        for agent in (a, b):
            await agent.apply_app("own", "own", syncPolicy=HEALING)
        there = b.destination
        across = {"name": "in-cluster", "namespace": there}
        await a.apply_app("across", "across", destination=across, syncPolicy=ONCE)
        async with a.running(), b.running():
            await a.until_synced("own")
            await b.until_synced("own")
            refusal = (
                f'cannot patch resource "configmaps" in API group "" in the namespace "{there}"'
            )
            await a.until(lambda app: refusal in problems(app), app="across")
            assert a.known("across") is not None
            assert b.known("across") is None
        assert await b.get("configmaps/across") is None


async def test_an_operator_runs_the_agent_of_a_tenant_who_has_an_account_in_his_cluster_only(
    stopped_agent: AgentFixture,
    chart_rights: ChartRights,
    spokes: tuple[BreakableControlPlane, ...],
) -> None:
    tenant, namespace = spokes[0], f"shop-{uuid.uuid4().hex[:8]}"
    names = {"tenant-a": stopped_agent.namespace, "shop": namespace}
    names |= {"https://tenant-a.example:6443": tenant.url, "CA": ca(tenant)}
    agent = await chart_rights.give(
        stopped_agent, layout_values("hosted/values.yaml", **{"tenant-a": stopped_agent.namespace})
    )
    async with tenant.api() as api:
        await api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    await install(tenant, layout_objects("hosted/destination.yaml", names))
    names["TOKEN"] = await token_of(tenant, namespace, "plumbline")
    (settings,) = layout_objects("hosted/settings.yaml", names)
    await agent.api.create(f"/api/v1/namespaces/{agent.namespace}/configmaps", settings)
    await connect(agent, "hosted/cluster-secret.yaml", names)
    places = {
        "web": {"name": agent.namespace, "namespace": namespace},
        "own": {"name": "in-cluster", "namespace": agent.destination},
        "beyond": {"name": agent.namespace, "namespace": "default"},
    }
    agent.commit({f"{app}/{app}.yaml": config_map(app, a="1") for app in places})
    for app, destination in places.items():
        await agent.apply_app(app, app, destination=destination, syncPolicy=ONCE)
    async with agent.running():
        await agent.until_synced("web")
        own = await agent.until(lambda app: "InvalidSpecError" in conditions(app), app="own")
        words = "add 'default' to `namespaces` of the Secret of the cluster"
        await agent.until(lambda app: words in problems(app), app="beyond")
    assert "cluster.inClusterEnabled" in conditions(own)["InvalidSpecError"]
    assert await agent.get("configmaps/own") is None
    async with tenant.api() as api:
        there = await api.get(f"/api/v1/namespaces/{namespace}/serviceaccounts")
        assert [it["metadata"]["name"] for it in there["items"]] == ["plumbline"]
        assert not await api.exists("/api/v1/namespaces/default/configmaps/beyond")
    async with kube_api(
        Access(url=tenant.url, ca_file=tenant.access.ca_file, token=names["TOKEN"])
    ) as account:
        with pytest.raises(KubeApiError, match="forbidden"):
            await account.get("/api/v1/namespaces/default/configmaps")


def problems(app: Mapping[str, Any]) -> str:
    """All that the Application says of what went wrong."""
    operation = app.get("status", {}).get("operationState", {})
    results = operation.get("syncResult", {}).get("resources", ())
    messages = (it.get("message", "") for it in results if it.get("status") == "SyncFailed")
    return "\n".join([*conditions(app).values(), operation.get("message", ""), *messages])


def replace_agent(agent: AgentFixture, **changes: Any) -> AgentFixture:
    kept = {"settings", "repository", "api", "namespace", "destination"}
    return AgentFixture(**{name: getattr(agent, name) for name in kept} | changes)


async def install(cluster: ControlPlane, objects: list[dict[str, Any]]) -> None:
    async with installer(cluster.access) as installing, cluster.api() as api:
        assert await installing.apply(objects, dry_run=False) == {}
        await until_granted(api, objects)


async def token_of(cluster: ControlPlane, namespace: str, account: str) -> str:
    """A token of the account; in a cluster with controllers its Secret would have one."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    async with cluster.api() as api:
        return str((await api.create(path, {"spec": {}}))["status"]["token"])


def ca(cluster: ControlPlane) -> str:
    return b64encode(cluster.access.ca_file.read_bytes()).decode()


async def connect(agent: AgentFixture, file: str, names: Mapping[str, str]) -> None:
    """Create the documented Secret of a cluster in the agent's namespace."""
    (secret,) = layout_objects(file, names)
    await agent.api.create(f"/api/v1/namespaces/{agent.namespace}/secrets", secret)
