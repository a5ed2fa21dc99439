"""`kill -9` of the agent at every hop of a push: it is started again, and all ends the same."""

from typing import Any

import pytest

from bus.jetstream import Bus
from tests.flows.evidence import dead_letters, waiting
from tests.flows.house import House, conditions, config_map
from tests.flows.killed_agent import VARIABLE
from tests.flows.outside import Outside, bus_of, outside, prepared
from tests.support import eventually

pytestmark = pytest.mark.flow

HEALING = {"automated": {"prune": True, "selfHeal": True}}
DYING = ("-m", "tests.flows.killed_agent")

ROOMS = ("refresh", "render", "compare", "decide", "step", "assess")
PLACES = [
    *(f"{when}:{room}" for room in ROOMS for when in ("before", "after")),
    "after:apply",
    "before:ack step",
]


def dying(house: House, place: str) -> Outside:
    return prepared(house, "dying", DYING, **{VARIABLE: place})


@pytest.mark.parametrize("place", PLACES)
async def test_work_goes_on_after_a_kill_and_ends_the_same(quiet_house: House, place: str) -> None:
    house = quiet_house
    sha = house.commit({"web/a.yaml": config_map("a", key="1"), "web/b.yaml": config_map("b")})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    await dying(house, place).until_killed()
    async with outside(house), bus_of(house.settings) as bus:
        app = await house.until_synced("web")
        assert_deployed_once(app, sha)
        live = await house.get("configmaps/a")
        assert live is not None
        assert live["data"] == {"key": "1"}
        assert await house.get("configmaps/b") is not None
        assert await dead_letters(bus) == []


def assert_deployed_once(app: dict[str, Any], sha: str) -> None:
    status = app["status"]
    assert status["sync"]["revision"] == sha
    assert [one["revision"] for one in status["history"]] == [sha]
    assert status["operationState"]["phase"] == "Succeeded"
    assert conditions(app) == {}
    assert "operation" not in app


async def test_what_a_killed_agent_had_not_acknowledged_is_delivered_again_and_changes_nothing(
    quiet_house: House,
) -> None:
    house = quiet_house
    sha = house.commit({"web/a.yaml": config_map("a", key="1")})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    await dying(house, "after:step").until_killed()
    async with outside(house), bus_of(house.settings) as bus:
        await house.until_synced("web")
        before = await house.get("configmaps/a")
        await eventually(lambda: all_done(bus), within=60)
        assert_deployed_once(await house.app("web"), sha)
        assert await house.get("configmaps/a") == before
        assert await dead_letters(bus) == []


async def all_done(bus: Bus) -> bool:
    return await waiting(bus, "ASK") == 0 == await waiting(bus, "CMD")
