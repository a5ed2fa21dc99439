"""Where no NATS is given the agent runs one of its own, and others find it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent.buses import bus_url, open_buses, subscriber_settings
from agent.settings import Settings
from bus.events import HealthAssessed
from bus.identity import AppKey
from bus.jetstream import Bus, BusSettings, CarrierUnreachableError
from bus.logins import AGENTS_ACCOUNT, BusLogin
from bus.status import HealthStatus
from tests.unit.bus.dispatch_fixture import COMMANDS

pytestmark = pytest.mark.usefixtures("own_servers")

FACT = HealthAssessed(app=AppKey("argocd", "shop"), status=HealthStatus.HEALTHY)


async def test_without_a_url_a_server_on_disk_carries_facts_beyond_its_end(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path)
    assert bus_url(settings) == ""
    async with open_buses(settings, COMMANDS) as buses:
        assert bus_url(settings) == buses.agent.settings.url
        await buses.agent.provision()
        await buses.agent.publish(FACT)
    assert bus_url(settings) == ""
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    async with (
        open_buses(settings, COMMANDS) as buses,
        buses.agent.facts(since=long_ago, follow=False) as facts,
    ):
        assert [fact async for _, fact in facts] == [FACT]


async def test_what_an_earlier_version_kept_is_kept(tmp_path: Path) -> None:
    """Its logins had no account of their own."""
    settings = Settings(state_dir=tmp_path)
    async with open_buses(settings, COMMANDS) as buses:
        await buses.agent.provision()
        await buses.agent.publish(FACT)
    streams = tmp_path / "nats" / "jetstream" / "jetstream"
    (streams / AGENTS_ACCOUNT).rename(streams / "$G")
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    async with (
        open_buses(settings, COMMANDS) as buses,
        buses.agent.facts(since=long_ago, follow=False) as facts,
    ):
        assert [fact async for _, fact in facts] == [FACT]


async def test_it_lets_nobody_in_without_a_login(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path)
    async with open_buses(settings, COMMANDS):
        stranger = BusSettings(url=bus_url(settings), connect_seconds=2)
        with pytest.raises(CarrierUnreachableError, match=r"(?i)authorization"):
            async with Bus.open(stranger):
                pass


async def test_a_person_on_this_machine_reads_facts_with_the_login_that_lies_there(
    tmp_path: Path,
) -> None:
    settings = Settings(state_dir=tmp_path)
    async with open_buses(settings, COMMANDS) as buses:
        await buses.agent.provision()
        await buses.agent.publish(FACT)
        reader = subscriber_settings(settings, bus_url(settings))
        long_ago = datetime.now(UTC) - timedelta(hours=1)
        async with Bus.open(reader) as bus, bus.facts(since=long_ago, follow=False) as facts:
            assert [fact async for _, fact in facts] == [FACT]
        assert buses.bridge.settings.login is BusLogin.BRIDGE
    assert not list((tmp_path / "nats").glob("*.nk"))
