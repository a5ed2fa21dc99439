"""Git away, gone, or closed to us: what the owner of an application sees, and how it ends."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bus.events import RefreshFailed, RenderFailed
from bus.status import Reason
from playground.githost import GitHost, Login
from tests.flows.evidence import a_fact, carried, facts, logged
from tests.flows.house import House, conditions, config_map, is_synced
from tests.support import eventually

pytestmark = pytest.mark.flow

HEALING = {"automated": {"prune": True, "selfHeal": True}}
REFRESH = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
CANARY = "canary-5f2c9d1e"
SECRET = "shop-repository"


@pytest.fixture
async def host(house: House, own_git_host: GitHost) -> GitHost:
    """The house's repository is on a host of this test alone, and its application is synced."""
    webhook, house.repository = house.repository.webhook, own_git_host.create("team/apps")
    house.repository.webhook = webhook
    house.commit({"web/a.yaml": config_map("a", key="1")})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    await house.until_synced("web")
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
    house: House, host: GitHost
) -> None:
    before = await house.app("web")
    await host.down()
    sha = house.commit({"web/a.yaml": config_map("a", key="2")})
    app = await house.until(lambda app: "Failed to connect" in error_of(app), app="web")
    assert house.repository.url in error_of(app)
    assert "it is tried again" in error_of(app)
    assert kept(app) == kept(before)
    fact = await a_fact(house.parts.bus, RefreshFailed, message=error_of(app))
    assert fact.reason is Reason.REPOSITORY_UNREACHABLE
    await host.up()
    app = await house.until(is_synced_to(sha), app="web")
    assert conditions(app) == {}


async def test_a_git_server_that_stays_away_is_asked_less_and_less_often(
    house: House, host: GitHost
) -> None:
    await host.down()
    house.commit({"web/a.yaml": config_map("a", key="2")})

    async def is_backing_off() -> bool:
        waits = [fact.retry_after for fact in await facts(house.parts.bus, RefreshFailed)]
        assert waits == sorted(waits)
        return len(waits) >= 3 and waits[-1] > waits[0] > 0

    await eventually(is_backing_off)


async def test_a_repository_that_is_gone_is_named_and_recovers_when_it_is_back(
    house: House, host: GitHost
) -> None:
    before = await house.app("web")
    host.remove("team/apps")
    await house.patch_app("web", REFRESH)
    app = await house.until(lambda app: "not found" in error_of(app), app="web")
    assert house.repository.url in error_of(app)
    assert kept(app) == kept(before)
    assert await house.get("configmaps/a") is not None
    house.repository = host.create("team/apps")
    sha = house.commit({"web/a.yaml": config_map("a", key="2")})
    app = await house.until(is_synced_to(sha), app="web")
    assert conditions(app) == {}


async def test_wrong_credentials_name_the_secret_show_no_password_and_can_be_corrected(
    quiet_house: House,
) -> None:
    house, good = quiet_house, f"good-{CANARY}"
    house.repository.login = Login(user="bot", password=good)
    sha = house.commit({"web/a.yaml": config_map("a", key="1")})
    secrets = f"/api/v1/namespaces/{house.namespace}/secrets"
    await house.api.create(secrets, repository_secret(house.repository.url, f"bad-{CANARY}"))
    with logged() as log:
        async with house.running():
            await house.apply_app("web", "web", syncPolicy=HEALING)
            app = await house.until(error_of, app="web")
            said, shown = error_of(app), json.dumps(app)
            assert house.repository.url in said
            assert f"Secret {house.namespace}/{SECRET}" in said
            assert "the server refused this login" in said
            fact = await a_fact(house.parts.bus, RenderFailed, message=said)
            assert fact.reason is Reason.CREDENTIALS_REFUSED
            await house.api.patch(f"{secrets}/{SECRET}", {"stringData": {"password": good}})
            app = await house.until(is_synced_to(sha), app="web")
            shown += json.dumps(app) + await carried(house.parts.bus)
    assert conditions(app) == {}
    assert said in log.getvalue()
    assert CANARY not in shown + log.getvalue()


def repository_secret(url: str, password: str) -> dict[str, Any]:
    labels = {"argocd.argoproj.io/secret-type": "repository"}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET, "labels": labels},
        "stringData": {"url": url, "username": "bot", "password": password},
    }
