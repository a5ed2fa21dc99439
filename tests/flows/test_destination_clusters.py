"""One agent deploys into another cluster too, which a Secret of Argo CD's format describes."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from playground.background import BackgroundLoop
from playground.kubernetes import BreakableControlPlane
from playground.kubernetes import control_plane as open_control_plane
from tests.flows.agent_fixture import AgentFixture, conditions, config_map
from tests.flows.second_cluster import (
    SecondCluster,
    certificate_config,
    register,
    token_config,
    unregister,
)
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}
CASCADE = {"finalizers": ["resources-finalizer.argocd.argoproj.io/background"]}
"""Foreground deletion would need the garbage collector, which this cluster does not run."""


@pytest.fixture(scope="module")
def elsewhere(parts_folder: Path, control_plane_binaries: Path) -> Iterator[BreakableControlPlane]:
    """The control plane of the other cluster: an API to write to, without controllers."""
    with BackgroundLoop("elsewhere") as loop:
        folder = parts_folder / "elsewhere"
        yield loop.enter(open_control_plane(folder, control_plane_binaries, controllers=False))


@pytest.fixture
async def second(elsewhere: BreakableControlPlane) -> AsyncIterator[SecondCluster]:
    namespace = f"apps-{uuid.uuid4().hex[:8]}"
    async with elsewhere.api() as api:
        await api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        yield SecondCluster(cluster=elsewhere, api=api, namespace=namespace)


async def test_an_application_lives_in_another_cluster(
    agent: AgentFixture, second: SecondCluster
) -> None:
    """By server and by name: synced, healed, and deleted with what it deployed."""
    agent.commit({f"{app}/web.yaml": config_map(app, a="1") for app in ("one", "two")})
    await register(agent, "prod", token_config(second.cluster), server=second.server, name="prod")
    spelled = second.server.replace("https://", "HTTPS://") + "/"
    for app, destination in (
        ("one", second.destination(server=spelled)),
        ("two", second.destination(name="prod")),
    ):
        await agent.apply_app(
            app, app, destination=destination, syncPolicy=HEALING, metadata=CASCADE
        )
    await agent.until_synced("one")
    await agent.until_synced("two")

    metrics = agent.parts.metrics.text().decode()
    assert 'argocd_cluster_info{k8s_version="v1.' in metrics
    (status,) = (
        line
        for line in metrics.splitlines()
        if line.startswith("argocd_cluster_connection_status{") and second.server in line
    )
    assert status.endswith(" 1.0")

    await second.edit("two", a="by hand")
    await eventually(lambda: has_data(second, "two", a="1"), within=120, what="the drift healed")
    await agent.delete_app("one")
    await eventually(lambda: is_gone(second, "one"), within=120, what="its object deleted")
    assert await second.get("two")
    assert await agent.get("configmaps/one") is None
    assert await agent.get("configmaps/two") is None


async def test_rotated_credentials_and_a_removed_secret_are_noticed(
    agent: AgentFixture, second: SecondCluster
) -> None:
    agent.commit({"web/web.yaml": config_map("web", a="1")})
    identity = {"server": second.server, "name": "prod"}
    await register(agent, "prod", token_config(second.cluster, "expired-token"), **identity)
    await agent.apply_app("web", "web", destination=second.destination(), syncPolicy=HEALING)
    refused = await agent.until(
        lambda app: "cannot be used" in conditions(app).get("ComparisonError", ""), app="web"
    )
    message = conditions(refused)["ComparisonError"]
    assert "'prod'" in message
    assert "expired-token" not in message

    await register(agent, "prod", certificate_config(second.cluster), **identity)
    healed = await agent.until_synced("web")
    assert conditions(healed) == {}

    await unregister(agent, "prod")
    gone = await agent.until(lambda app: "InvalidSpecError" in conditions(app), app="web")
    assert second.server in conditions(gone)["InvalidSpecError"]
    assert gone["status"]["sync"]["status"] == "Unknown"
    assert await second.get("web")


async def test_a_name_of_two_secrets_is_no_destination(
    agent: AgentFixture, second: SecondCluster
) -> None:
    agent.commit({"web/web.yaml": config_map("web", a="1")})
    config = token_config(second.cluster)
    await register(agent, "first", config, server=second.server, name="prod")
    await register(agent, "other", config, server="https://other.example:6443", name="prod")
    destination = second.destination(name="prod")
    await agent.apply_app("web", "web", destination=destination, syncPolicy=HEALING)
    unclear = await agent.until(lambda app: "InvalidSpecError" in conditions(app), app="web")
    message = conditions(unclear)["InvalidSpecError"]
    assert f"{agent.namespace}/first" in message
    assert f"{agent.namespace}/other" in message
    await unregister(agent, "other")
    await agent.until_synced("web")


async def has_data(cluster: SecondCluster, name: str, **data: str) -> bool:
    found: dict[str, Any] = await cluster.get(name) or {}
    return bool(found.get("data") == data)


async def is_gone(cluster: SecondCluster, name: str) -> bool:
    return await cluster.get(name) is None
