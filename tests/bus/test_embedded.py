"""Where no NATS is given the agent runs one of its own, and others find it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent.buses import bus_url, open_bus
from agent.settings import Settings
from bus.events import HealthAssessed
from bus.identity import AppKey
from bus.status import HealthStatus

pytestmark = pytest.mark.flow

FACT = HealthAssessed(app=AppKey("argocd", "shop"), status=HealthStatus.HEALTHY)


async def test_without_a_url_a_server_on_disk_carries_facts_beyond_its_end(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path)
    assert bus_url(settings) == ""
    async with open_bus(settings) as bus:
        assert bus_url(settings) == bus.settings.url
        await bus.provision()
        await bus.publish(FACT)
    assert bus_url(settings) == ""
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    async with (
        open_bus(settings) as bus,
        bus.facts(since=long_ago, follow=False) as facts,
    ):
        assert [fact async for _, fact in facts] == [FACT]
