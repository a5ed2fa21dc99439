"""Git away, gone, or closed to us: what the owner of an application sees, and how it ends."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bus.events import RefreshFailed, RenderFailed
from bus.status import Reason
from playground.githost import GitHost, HostLogin
from tests.flows.agent_fixture import AgentFixture, conditions, config_map, is_synced
from tests.flows.evidence import a_fact, carried, facts, logged
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}
REFRESH = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
CANARY = "canary-5f2c9d1e"
SECRET = "shop-repository"


@pytest.fixture
async def host(agent: AgentFixture, own_git_host: GitHost) -> GitHost:
    """The agent's repository is on a host of this test alone, and its application is synced."""
    webhook, agent.repository = agent.repository.webhook, own_git_host.create("team/apps")
    agent.repository.webhook = webhook
    agent.commit({"web/a.yaml": config_map("a", key="1")})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")
    return own_git_host


def error_of(app: Mapping[str, Any]) -> str:
    """The words of its ComparisonError. A fetch that the fault met half-way has others at first."""
    return conditions(app).get("ComparisonError", "")


def is_synced_to(sha: str) -> Callable[[dict[str, Any]], bool]:
    return lambda app: is_synced(app) and bool(app["status"]["sync"]["revision"] == sha)


def kept(app: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was known before the fault and has to stay."""
    names = ("resources", "health", "history", "operationState")
    return {name: app["status"].get(name) for name in names}


async def test_a_git_server_that_is_down_leaves_the_last_state_and_recovers_by_itself(
    agent: AgentFixture, host: GitHost
) -> None:
    before = await agent.app("web")
    await host.down()
    sha = agent.commit({"web/a.yaml": config_map("a", key="2")})
    app = await agent.until(lambda app: "Failed to connect" in error_of(app), app="web")
    assert agent.repository.url in error_of(app)
    assert "it is tried again" in error_of(app)
    assert kept(app) == kept(before)
    fact = await a_fact(agent.parts.bus, RefreshFailed, message=error_of(app))
    assert fact.reason is Reason.REPOSITORY_UNREACHABLE
    await host.up()
    app = await agent.until(is_synced_to(sha), app="web")
    assert conditions(app) == {}


async def test_a_git_server_that_stays_away_is_asked_less_and_less_often(
    agent: AgentFixture, host: GitHost
) -> None:
    await host.down()
    agent.commit({"web/a.yaml": config_map("a", key="2")})

    async def is_backing_off() -> bool:
        waits = [fact.retry_after for fact in await facts(agent.parts.bus, RefreshFailed)]
        assert waits == sorted(waits)
        return len(waits) >= 3 and waits[-1] > waits[0] > 0

    await eventually(is_backing_off)


async def test_a_repository_that_is_gone_is_named_and_recovers_when_it_is_back(
    agent: AgentFixture, host: GitHost
) -> None:
    before = await agent.app("web")
    host.remove("team/apps")
    await agent.patch_app("web", REFRESH)
    app = await agent.until(lambda app: "not found" in error_of(app), app="web")
    assert agent.repository.url in error_of(app)
    assert kept(app) == kept(before)
    assert await agent.get("configmaps/a") is not None
    agent.repository = host.create("team/apps")
    sha = agent.commit({"web/a.yaml": config_map("a", key="2")})
    app = await agent.until(is_synced_to(sha), app="web")
    assert conditions(app) == {}


async def test_wrong_credentials_name_the_secret_show_no_password_and_can_be_corrected(
    stopped_agent: AgentFixture,
) -> None:
    agent, good = stopped_agent, f"good-{CANARY}"
    agent.repository.login = HostLogin(user="bot", password=good)
    sha = agent.commit({"web/a.yaml": config_map("a", key="1")})
    secrets = f"/api/v1/namespaces/{agent.namespace}/secrets"
    await agent.api.create(secrets, repository_secret(agent.repository.url, f"bad-{CANARY}"))
    with logged() as log:
        async with agent.running():
            await agent.apply_app("web", "web", syncPolicy=HEALING)
            app = await agent.until(error_of, app="web")
            error, shown = error_of(app), json.dumps(app)
            assert agent.repository.url in error
            assert f"Secret {agent.namespace}/{SECRET}" in error
            assert "the server refused this login" in error
            fact = await a_fact(agent.parts.bus, RenderFailed, message=error)
            assert fact.reason is Reason.CREDENTIALS_REFUSED
            await agent.api.patch(f"{secrets}/{SECRET}", {"stringData": {"password": good}})
            app = await agent.until(is_synced_to(sha), app="web")
            shown += json.dumps(app) + await carried(agent.parts.bus)
    assert conditions(app) == {}
    assert error in log.getvalue()
    assert CANARY not in shown + log.getvalue()


def repository_secret(url: str, password: str) -> dict[str, Any]:
    labels = {"argocd.argoproj.io/secret-type": "repository"}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET, "labels": labels},
        "stringData": {"url": url, "username": "bot", "password": password},
    }
