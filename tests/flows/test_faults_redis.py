"""Redis is a cache: away at the start or dying in between, everything goes on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from agent.loopback import free_port
from agent.settings.bus_settings import RedisSettings
from playground.redis import redis_server
from playground.server import Server
from tests.flows.agent_fixture import AgentFixture, config_map, is_synced
from tests.flows.evidence import logged
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}
REFRESH = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}


@pytest.fixture
async def own_redis(tmp_path: Path) -> AsyncIterator[Server]:
    async with redis_server(tmp_path / "redis") as server:
        yield server


def use_redis(agent: AgentFixture, url: str) -> None:
    redis = RedisSettings(url=SecretStr(url))
    agent.settings = agent.settings.model_copy(update={"redis": redis})


async def push(agent: AgentFixture, key: str) -> None:
    """A commit, looked at at once, and live in the end."""
    sha = agent.commit({"web/a.yaml": config_map("a", key=key)})
    await agent.apply_app("web", "web", syncPolicy=HEALING, **REFRESH)
    await agent.until(
        lambda app: is_synced(app) and app["status"]["sync"]["revision"] == sha, app="web"
    )


async def test_redis_that_is_away_at_the_start_is_said_once_and_missed_by_nobody(
    stopped_agent: AgentFixture,
) -> None:
    use_redis(stopped_agent, f"redis://127.0.0.1:{free_port()}/0")
    with logged() as log:
        async with stopped_agent.running():
            await push(stopped_agent, "1")
            await push(stopped_agent, "2")
    assert log.getvalue().count("redis is away, going on without") == 1


async def test_redis_that_dies_and_comes_back_is_said_and_stops_nothing(
    stopped_agent: AgentFixture, own_redis: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.store.redis_artifacts._TIMEOUT", 60.0)  # slow is not dead
    use_redis(stopped_agent, own_redis.url)
    with logged() as log:
        async with stopped_agent.running():
            await push(stopped_agent, "1")
            assert "redis" not in log.getvalue()
            own_redis.kill()
            await push(stopped_agent, "2")
            await eventually(lambda: "redis is away, going on without" in log.getvalue())
            await own_redis.start()
            await push(stopped_agent, "3")
            await eventually(lambda: "redis is back" in log.getvalue())
