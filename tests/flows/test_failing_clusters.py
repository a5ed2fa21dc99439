"""A destination cluster that stops, refuses or is limited concerns its own applications only."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from playground.background import BackgroundLoop
from playground.kubernetes import BreakableControlPlane
from playground.kubernetes import control_plane as open_control_plane
from tests.flows.agent_fixture import AgentFixture, conditions, config_map
from tests.flows.linked_agent import open_linked_agent
from tests.flows.second_cluster import SecondCluster, register, token_config
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def elsewhere(parts_folder: Path, control_plane_binaries: Path) -> Iterator[BreakableControlPlane]:
    with BackgroundLoop("failing") as loop:
        folder = parts_folder / "failing"
        yield loop.enter(open_control_plane(folder, control_plane_binaries, controllers=False))


@pytest.fixture
async def second(elsewhere: BreakableControlPlane) -> AsyncIterator[SecondCluster]:
    async with namespace_in(elsewhere) as cluster:
        yield cluster


@asynccontextmanager
async def namespace_in(cluster: BreakableControlPlane) -> AsyncIterator[SecondCluster]:
    namespace = f"apps-{uuid.uuid4().hex[:8]}"
    async with cluster.api() as api:
        await api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        yield SecondCluster(cluster=cluster, api=api, namespace=namespace)


@pytest.fixture
async def third(
    parts_folder: Path, control_plane_binaries: Path
) -> AsyncIterator[BreakableControlPlane]:
    folder = parts_folder / "third"
    async with open_control_plane(folder, control_plane_binaries, controllers=False) as cluster:
        yield cluster


@contextmanager
def stopped(cluster: BreakableControlPlane) -> Iterator[None]:
    """The API server keeps its connections and answers nothing, as on a host that hangs."""
    pid = cluster.api_server.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def test_a_cluster_that_stands_still_and_one_that_is_cut_delay_no_third(
    agent: AgentFixture,
    second: SecondCluster,
    elsewhere: BreakableControlPlane,
    third: BreakableControlPlane,
) -> None:
    """More applications of the first have to act than the agent has handlers."""
    there = [f"there{number}" for number in range(agent.settings.concurrency + 2)]
    apps = ("here", *there, "cut")
    agent.commit({f"{app}/web.yaml": config_map(app, a="1") for app in apps})
    identity = {"server": second.server, "name": "prod"}
    await register(agent, "prod", token_config(second.cluster), **identity)
    await register(agent, "third", token_config(third), server=third.url, name="third")
    await agent.apply_app("here", "here", syncPolicy=HEALING)
    for app in there:
        await agent.apply_app(app, app, destination=second.destination(), syncPolicy=HEALING)
    cut = {"name": "third", "namespace": "default"}
    await agent.apply_app("cut", "cut", destination=cut, syncPolicy=HEALING)
    for app in apps:
        await agent.until_synced(app)

    third.kill_api_server()
    with stopped(elsewhere):
        agent.commit({f"{app}/web.yaml": config_map(app, a="2") for app in apps})
        await eventually(
            lambda: has_data(agent, "here", a="2"), within=120, what="the other cluster's push"
        )
        failed = await agent.until(
            lambda app: "ComparisonError" in conditions(app), app=there[0], within=120
        )
        assert "'prod'" in conditions(failed)["ComparisonError"]
        assert "did not answer in time" in conditions(failed)["ComparisonError"]
        await agent.until(
            lambda app: "'third'" in conditions(app).get("ComparisonError", ""), app="cut"
        )
    await third.start_api_server()
    for app in (*there, "cut"):
        await agent.until(
            lambda app: not conditions(app) and app["status"]["sync"]["status"] == "Synced",
            app=app,
            within=120,
        )
    assert (await second.get(there[0]) or {})["data"] == {"a": "2"}
    async with third.api() as api:
        assert (await api.get("/api/v1/namespaces/default/configmaps/cut"))["data"] == {"a": "2"}


async def test_a_user_without_rights_is_reported_of_and_works_when_it_has_them(
    agent: AgentFixture, second: SecondCluster
) -> None:
    """And with rights in one namespace only, where the Secret says so."""
    agent.commit({"web/web.yaml": config_map("web", a="1"), "far/x.yaml": outside()})
    token = await limited_user(second, verbs=["get"])
    config = token_config(second.cluster, token)
    fields = {"server": second.server, "name": "prod", "namespaces": second.namespace}
    await register(agent, "prod", config, **fields)
    await agent.apply_app("web", "web", destination=second.destination(), syncPolicy=HEALING)
    refused = await agent.until(lambda app: "ComparisonError" in conditions(app), app="web")
    assert "permits the agent to list no kind" in conditions(refused)["ComparisonError"]

    await limited_user(second, verbs=["*"])
    await agent.until_synced("web", within=120)
    await second.edit("web", a="by hand")
    await eventually(lambda: healed(second), within=120, what="the drift healed")
    await agent.apply_app("far", "far", destination=second.destination(), syncPolicy=HEALING)
    denied = await agent.until(lambda app: "SyncError" in conditions(app), app="far")
    assert "add 'default' to `namespaces`" in conditions(denied)["SyncError"]


async def test_the_state_of_a_cluster_is_reported_with_its_version_and_applications(
    stopped_agent: AgentFixture,
    second: SecondCluster,
    elsewhere: BreakableControlPlane,
    database_url: str,
    tmp_path: Path,
) -> None:
    async with open_linked_agent(stopped_agent, database_url, tmp_path) as linked_agent:
        agent = linked_agent.agent
        agent.commit({"web/web.yaml": config_map("web", a="1")})
        identity = {"server": second.server, "name": "prod"}
        await register(agent, "prod", token_config(second.cluster), **identity)

        async def is_reported(status: str, message: str) -> bool:
            clusters = await linked_agent.admin.items("/clusters")
            found = next((one for one in clusters if one["name"] == "prod"), {"status": ""})
            return found["status"] == status and message in found["message"]

        await eventually(
            lambda: is_reported("Unknown", "has no applications"),
            within=120,
            what="an unused cluster",
        )
        await agent.apply_app("web", "web", destination=second.destination(), syncPolicy=HEALING)
        await eventually(lambda: is_reported("Successful", ""), within=120, what="a used cluster")
        await agent.until_synced("web")

        async def is_described() -> bool:
            clusters = await linked_agent.admin.items("/clusters")
            found = next(one for one in clusters if one["name"] == "prod")
            version = found["serverVersion"].startswith("v1.")
            return version and found["applications"] == 1 and found["objects"] > 0

        await eventually(is_described, within=120, what="version, objects and applications")
        with stopped(elsewhere):
            await eventually(
                lambda: is_reported("Failed", "did not answer"), within=120, what="a dead cluster"
            )
            (failed,) = [
                it for it in await linked_agent.admin.items("/clusters") if it["name"] == "prod"
            ]
            assert failed["contactAt"]
            assert failed["contactAt"] <= failed["attemptedAt"]
        await eventually(lambda: is_reported("Successful", ""), within=120, what="its return")
        await register(agent, "prod", token_config(second.cluster, "expired"), **identity)
        await eventually(
            lambda: is_reported("Failed", "Unauthorized"), within=120, what="a refused token"
        )


async def limited_user(second: SecondCluster, verbs: list[str]) -> str:
    """Give a ServiceAccount of the namespace these rights in it; return a token of it."""
    space, account = second.namespace, "deployer"
    accounts = f"/api/v1/namespaces/{space}/serviceaccounts"
    await second.api.apply(
        f"{accounts}/{account}",
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}},
    )
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": verbs}
    api = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    await second.api.apply(
        f"{RBAC}/namespaces/{space}/roles/{account}",
        {**api, "kind": "Role", "metadata": {"name": account}, "rules": [rule]},
    )
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": space}
    binding = {"metadata": {"name": account}, "roleRef": role, "subjects": [subject]}
    await second.api.apply(
        f"{RBAC}/namespaces/{space}/rolebindings/{account}",
        {**api, "kind": "RoleBinding", **binding},
    )
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await second.api.create(f"{accounts}/{account}/token", request)
    token: str = answer["status"]["token"]
    return token


def outside() -> str:
    metadata = "{name: outside, namespace: default}"
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n"


async def has_data(agent: AgentFixture, name: str, **data: str) -> bool:
    found = await agent.get(f"configmaps/{name}") or {}
    return bool(found.get("data") == data)


async def healed(second: SecondCluster) -> bool:
    return (await second.get("web") or {}).get("data") == {"a": "1"}
