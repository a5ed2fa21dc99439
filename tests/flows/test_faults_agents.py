"""Too many messages, too many agents: what an agent says of itself, and what it does."""

from typing import Any

import pytest

from bus.events import CompareApp
from bus.identity import AppKey
from bus.jetstream import Bus
from tests.flows.evidence import dead_letters, waiting
from tests.flows.house import House, config_map, is_synced
from tests.flows.outside import Outside, allow_webhooks, bus_of, outside
from tests.support import eventually

pytestmark = pytest.mark.flow

HEALING = {"automated": {"prune": True, "selfHeal": True}}
REFRESH = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
FLOOD = 10_000
_MIB = 1024 * 1024


async def test_ten_thousand_waiting_messages_are_worked_off_in_bounded_memory(
    quiet_house: House,
) -> None:
    """Ready means that the rooms are open, however much waits; new work is not left behind."""
    house = quiet_house
    sha = house.commit({"web/a.yaml": config_map("a", key="1")})
    async with bus_of(house.settings) as bus:
        await bus.provision()
        nobody = (AppKey(house.namespace, f"nobody-{number}") for number in range(FLOOD))
        await bus.publish(*(CompareApp(app=app) for app in nobody))
        assert await waiting(bus, "ASK") == FLOOD
        async with outside(house) as agent:
            await agent.until_ready()
            at_first = agent.peak_memory()
            await house.apply_app("web", "web", syncPolicy=HEALING)
            app = await house.until_synced("web")
            assert app["status"]["sync"]["revision"] == sha
            await eventually(lambda: nothing_waits(bus), within=60)
            assert await agent.missing() == {}
            assert agent.peak_memory() - at_first < 64 * _MIB
        assert await dead_letters(bus) == []


async def nothing_waits(bus: Bus) -> bool:
    return await waiting(bus, "ASK") == 0


async def test_of_two_agents_one_stands_by_takes_webhooks_and_takes_over_when_the_other_dies(
    quiet_house: House,
) -> None:
    house = quiet_house
    await allow_webhooks(house)
    house.commit({"web/a.yaml": config_map("a", key="1")})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    lease = {"GITOPS_LEASE_ENABLED": "true"}
    async with outside(house, "first", **lease) as first:
        await first.until_ready()
        second_state = str(house.settings.state_dir.parent / "second")
        async with outside(house, "second", GITOPS_STATE_DIR=second_state, **lease) as second:
            await eventually(lambda: stands_by(second))
            await house.until_synced("web")
            house.repository.webhook = second.webhook
            pushed = house.commit({"web/a.yaml": config_map("a", key="3")})
            await house.until(lambda app: is_at(app, pushed), app="web")
            house.repository.webhook = None
            assert not second.said("acting")
            assert second.said("waiting: another agent leads")[0]["holder"]
            first.child.kill()
            sha = house.commit({"web/a.yaml": config_map("a", key="2")})
            await second.until_ready()
            assert second.said("acting")
            await house.until(lambda app: is_at(app, sha), app="web")
            live = await house.get("configmaps/a")
            assert live is not None
            assert live["data"] == {"key": "2"}


async def stands_by(standby: Outside) -> bool:
    """Ready, so that `helm --wait` ends and webhooks may come; and it says that it does not act."""
    return not await standby.missing() and not await standby.acts()


def is_at(app: dict[str, Any], revision: str) -> bool:
    return is_synced(app) and bool(app["status"]["sync"]["revision"] == revision)


async def test_who_loses_the_lease_stands_by_in_the_same_process_and_acts_again(
    quiet_house: House,
) -> None:
    """Nobody has to start it again, and it names who leads instead of itself."""
    house = quiet_house
    house.commit({"web/a.yaml": config_map("a", key="1")})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{house.namespace}/leases/gitops-agent"
    usurped = {"spec": {"holderIdentity": "usurper", "leaseDurationSeconds": 5}}
    async with outside(house, "first", GITOPS_LEASE_ENABLED="true") as agent:
        await agent.until_ready()
        await house.until_synced("web")
        process = agent.child.pid
        await house.api.patch(lease, usurped)
        await eventually(lambda: agent.said("no longer acting: standing by"), within=20)
        assert agent.said("no longer acting: standing by")[0]["cause"] == "usurper leads now"
        sha = house.commit({"web/a.yaml": config_map("a", key="2")})
        await eventually(lambda: len(agent.said("acting")) == 2, within=40)
        await house.patch_app("web", REFRESH)
        await house.until(lambda app: is_at(app, sha), app="web")
        assert agent.child.pid == process
