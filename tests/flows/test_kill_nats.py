"""NATS is killed under a working house, or holds a message that nobody can read."""

from collections.abc import AsyncIterator, Mapping

import aiohttp
import pytest
from pydantic import SecretStr

from bus.events import RefreshApp
from bus.identity import AppKey
from bus.subjects import subject_of
from playground.pushes import Webhook
from playground.server import Server
from tests.flows.conftest import WEBHOOK_SECRET
from tests.flows.evidence import dead_letters, logged
from tests.flows.house import House, config_map, is_synced
from tests.flows.outside import allow_webhooks
from tests.support import eventually

pytestmark = pytest.mark.flow

HEALING = {"automated": {"prune": True, "selfHeal": True}}


@pytest.fixture
async def mortal(quiet_house: House, own_nats: Server) -> AsyncIterator[House]:
    """A running house on a NATS of this test alone."""
    house = quiet_house
    nats = house.settings.nats.model_copy(update={"url": SecretStr(own_nats.url)})
    house.settings = house.settings.model_copy(update={"nats": nats})
    await allow_webhooks(house)
    async with house.running() as agent:
        url = f"http://127.0.0.1:{agent.port}/api/webhook"
        house.repository.webhook = Webhook(url=url, secret=WEBHOOK_SECRET)
        yield house
        house.repository.webhook = None


async def test_nothing_is_lost_while_nats_is_away_and_the_agent_says_that_it_is(
    mortal: House, own_nats: Server
) -> None:
    house = mortal
    with logged() as log:
        house.commit(
            {"web/a.yaml": config_map("a", key="1"), "web/b.yaml": config_map("b", key="1")}
        )
        await house.apply_app("web", "web", syncPolicy=HEALING)
        await house.until_synced("web")
        own_nats.kill()
        await eventually(lambda: not house.parts.bus.is_connected)
        assert "NATS is away" in (await missing(house))["bus"]
        house.commit({"web/a.yaml": config_map("a", key="2")})
        path = f"/api/v1/namespaces/{house.destination}/configmaps/b"
        await house.api.patch(path, {"data": {"key": "edited"}})
        refused = await eventually(lambda: told(house, 2))
        assert refused == 503
        sha = house.commit({"web/a.yaml": config_map("a", key="3")})
        await own_nats.start()
        await house.until(
            lambda app: is_synced(app) and app["status"]["sync"]["revision"] == sha, app="web"
        )
        assert await eventually(lambda: told(house, 3)) == 200
        await eventually(lambda: is_healed(house))
        assert await missing(house) == {}
    assert '"event":"bus lost"' in log.getvalue()
    assert '"event":"bus back"' in log.getvalue()
    assert await dead_letters(house.parts.bus) == []


async def test_a_message_that_nobody_can_read_is_put_aside_with_its_reason_and_blocks_nobody(
    mortal: House,
) -> None:
    house, bus = mortal, mortal.parts.bus
    sha = house.commit({"web/a.yaml": config_map("a", key="1")})
    poisoned = subject_of(bus.scope, RefreshApp(app=AppKey(house.namespace, "web")))
    await bus.connection.client.publish(poisoned, b"not an event")
    letters = await eventually(lambda: dead_letters(bus))
    await house.apply_app("web", "web", syncPolicy=HEALING)
    app = await house.until_synced("web")
    assert app["status"]["sync"]["revision"] == sha
    assert [one["dead-room"] for one in letters] == ["render"]
    assert letters[0]["dead-subject"] == poisoned
    assert letters[0]["dead-reason"]
    assert await dead_letters(bus) == letters


async def missing(house: House) -> Mapping[str, str]:
    """What `/readyz` says."""
    url = f"http://127.0.0.1:{house.agent.metrics_port}/readyz"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        said = await answer.json()
        assert answer.status == (503 if said["missing"] else 200)
        return dict(said["missing"])


def told(house: House, number: int) -> int | None:
    """What the Git host heard when it announced the push of this number."""
    deliveries = house.repository.deliveries
    return deliveries[number - 1].status if len(deliveries) >= number else None


async def is_healed(house: House) -> bool:
    live = await house.get("configmaps/b")
    return live is not None and bool(live["data"] == {"key": "1"})
