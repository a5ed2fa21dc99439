"""NATS is killed under a working agent, or holds a message that nobody can read."""

from collections.abc import AsyncIterator, Mapping

import aiohttp
import pytest
from pydantic import SecretStr

from bus.events import RefreshApp
from bus.identity import AppKey
from bus.subjects import subject_of
from playground.pushes import PushWebhook
from playground.server import Server
from tests.flows.agent_fixture import AgentFixture, config_map, is_synced
from tests.flows.agent_process import allow_webhooks
from tests.flows.conftest import WEBHOOK_SECRET
from tests.flows.evidence import dead_letters, logged
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}


@pytest.fixture
async def mortal(stopped_agent: AgentFixture, own_nats: Server) -> AsyncIterator[AgentFixture]:
    """A running agent on a NATS of this test alone."""
    agent_fixture = stopped_agent
    nats = agent_fixture.settings.nats.model_copy(update={"url": SecretStr(own_nats.url)})
    agent_fixture.settings = agent_fixture.settings.model_copy(update={"nats": nats})
    await allow_webhooks(agent_fixture)
    async with agent_fixture.running() as agent:
        url = f"http://127.0.0.1:{agent.port}/api/webhook"
        agent_fixture.repository.webhook = PushWebhook(url=url, secret=WEBHOOK_SECRET)
        yield agent_fixture
        agent_fixture.repository.webhook = None


async def test_nothing_is_lost_while_nats_is_away_and_the_agent_says_that_it_is(
    mortal: AgentFixture, own_nats: Server
) -> None:
    agent_fixture = mortal
    with logged() as log:
        agent_fixture.commit(
            {"web/a.yaml": config_map("a", key="1"), "web/b.yaml": config_map("b", key="1")}
        )
        await agent_fixture.apply_app("web", "web", syncPolicy=HEALING)
        await agent_fixture.until_synced("web")
        own_nats.kill()
        await eventually(lambda: not agent_fixture.parts.bus.is_connected)
        await eventually(lambda: readiness_blames_nats(agent_fixture))
        agent_fixture.commit({"web/a.yaml": config_map("a", key="2")})
        path = f"/api/v1/namespaces/{agent_fixture.destination}/configmaps/b"
        await agent_fixture.api.patch(path, {"data": {"key": "edited"}})
        refused = await eventually(lambda: facts_of(agent_fixture, 2))
        assert refused == 503
        await own_nats.start()
        await eventually(lambda: agent_fixture.parts.bus.is_connected)
        sha = agent_fixture.commit({"web/a.yaml": config_map("a", key="3")})
        await agent_fixture.until(
            lambda app: is_synced(app) and app["status"]["sync"]["revision"] == sha, app="web"
        )
        assert await eventually(lambda: facts_of(agent_fixture, 3)) == 200
        await eventually(lambda: is_healed(agent_fixture))
        await eventually(lambda: is_ready(agent_fixture))
    assert '"event":"bus lost"' in log.getvalue()
    assert '"event":"bus back"' in log.getvalue()
    assert await dead_letters(agent_fixture.parts.bus) == []


async def test_a_message_that_nobody_can_read_is_put_aside_with_its_reason_and_blocks_nobody(
    mortal: AgentFixture,
) -> None:
    agent_fixture, bus = mortal, mortal.parts.bus
    sha = agent_fixture.commit({"web/a.yaml": config_map("a", key="1")})
    poisoned = subject_of(bus.scope, RefreshApp(app=AppKey(agent_fixture.namespace, "web")))
    await bus.connection.client.publish(poisoned, b"not an event")
    letters = await eventually(lambda: dead_letters(bus))
    await agent_fixture.apply_app("web", "web", syncPolicy=HEALING)
    app = await agent_fixture.until_synced("web")
    assert app["status"]["sync"]["revision"] == sha
    assert [one["dead-handler"] for one in letters] == ["render"]
    assert letters[0]["dead-subject"] == poisoned
    assert letters[0]["dead-reason"]
    assert await dead_letters(bus) == letters


async def readiness_blames_nats(agent_fixture: AgentFixture) -> bool:
    return "NATS is away" in (await missing(agent_fixture)).get("bus", "")


async def is_ready(agent_fixture: AgentFixture) -> bool:
    return await missing(agent_fixture) == {}


async def missing(agent_fixture: AgentFixture) -> Mapping[str, str]:
    """What `/readyz` says."""
    url = f"http://127.0.0.1:{agent_fixture.agent.metrics_port}/readyz"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        logged = await answer.json()
        assert answer.status == (503 if logged["missing"] else 200)
        return dict(logged["missing"])


def facts_of(agent_fixture: AgentFixture, number: int) -> int | None:
    """What the Git host heard when it announced the push of this number."""
    deliveries = agent_fixture.repository.deliveries
    return deliveries[number - 1].status if len(deliveries) >= number else None


async def is_healed(agent_fixture: AgentFixture) -> bool:
    live = await agent_fixture.get("configmaps/b")
    return live is not None and bool(live["data"] == {"key": "1"})
