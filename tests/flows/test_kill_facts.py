"""`kill -9` between a status and the facts about it: they are told by the next start, once."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from agent.store.application_writes import ApplicationPatches
from bus.events import (
    AppDeleted,
    HealthAssessed,
    OperationFinished,
    OperationStarted,
    ResourcesApplied,
    RevisionResolved,
)
from bus.identity import AppKey
from bus.jetstream import Bus
from handlers.ports import ClusterUnreachableError
from tests.flows.agent_fixture import AgentFixture
from tests.flows.agent_process import agent_process, bus_of
from tests.flows.evidence import a_fact, facts
from tests.flows.killed_agent import is_noted
from tests.flows.test_kill_hops import (
    FINALIZER,
    HEALING,
    SECOND,
    WORKLOAD,
    all_done,
    dying,
    operation_ids,
)
from tests.support import eventually


@pytest.mark.parametrize("number", [1, 2], ids=["in mid-sync", "at the end"])
async def test_every_transition_has_its_fact_once(stopped_agent: AgentFixture, number: int) -> None:
    agent = stopped_agent
    agent.commit({"web/a.yaml": WORKLOAD, "web/b.yaml": SECOND})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await dying(agent, f"after:write {number}").until_killed()
    left = await agent.app("web")
    async with bus_of(agent.settings) as bus:
        published = await facts(bus, OperationFinished)
        async with agent_process(agent):
            app = await agent.until_synced("web")
            await eventually(lambda: all_done(bus), within=120)
        assert operation_ids(left) == operation_ids(app)
        assert published == []
        await assert_published_once(bus, app)
        async with agent_process(agent, "third"):
            await eventually(lambda: all_done(bus), within=120)
        await assert_published_once(bus, app)


async def assert_published_once(bus: Bus, app: dict[str, Any]) -> None:
    """The one operation of two waves, and health from nothing to what it is."""
    (started,) = await facts(bus, OperationStarted)
    (finished,) = await facts(bus, OperationFinished)
    assert [started.operation] == [finished.operation] == operation_ids(app)
    waves = await facts(bus, ResourcesApplied)
    assert [(one.wave, one.applied) for one in waves] == [(0, 1), (1, 1)]
    assert len(await facts(bus, RevisionResolved)) <= 1  # none, where it was quicker than the poll
    healths = await facts(bus, HealthAssessed)
    assert [one.before for one in healths[1:]] == [one.status for one in healths[:-1]]
    assert all(one.before != one.status for one in healths)
    assert healths[-1].status == app["status"]["health"]["status"]


@pytest.mark.parametrize("number", [1, 2], ids=["in mid-sync", "at the end"])
async def test_a_status_whose_answer_was_lost_has_its_facts_once(
    stopped_agent: AgentFixture, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """As when the API server dies between storing and answering."""
    agent = stopped_agent
    monkeypatch.setattr(ApplicationPatches, "patch_application", losing(number))
    agent.commit({"web/a.yaml": WORKLOAD, "web/b.yaml": SECOND})
    async with agent.running():
        await agent.apply_app("web", "web", syncPolicy=HEALING)
        app = await agent.until_synced("web")
        bus = agent.parts.bus
        await a_fact(bus, OperationFinished)
        await a_fact(bus, HealthAssessed, status=app["status"]["health"]["status"])
    async with agent.running():
        await eventually(lambda: all_done(agent.parts.bus), within=120)
        await assert_published_once(agent.parts.bus, app)


def losing(number: int) -> Callable[..., Awaitable[bytes]]:
    """The API server stores every write; the answer to the one of this number is lost."""
    write = ApplicationPatches.patch_application
    left = number

    async def written(self: ApplicationPatches, key: AppKey, patch: Mapping[str, Any]) -> bytes:
        nonlocal left
        answer = await write(self, key, patch)
        left -= is_noted(patch)
        if is_noted(patch) and left == 0:
            raise ClusterUnreachableError("the answer was lost")
        return answer

    return written


async def test_the_end_of_an_application_is_told_once(stopped_agent: AgentFixture) -> None:
    agent = stopped_agent
    agent.commit({"web/b.yaml": SECOND})
    await agent.apply_app("web", "web", syncPolicy=HEALING, metadata={"finalizers": [FINALIZER]})
    async with agent_process(agent, "first"):
        await agent.until_synced("web")
    await agent.delete_app("web")
    await dying(agent, "after:farewell").until_killed()
    async with bus_of(agent.settings) as bus:
        assert await facts(bus, AppDeleted) == []
        for name in ("second", "third"):
            async with agent_process(agent, name):
                await a_fact(bus, AppDeleted)
                await eventually(lambda: all_done(bus), within=120)
        assert len(await facts(bus, AppDeleted)) == 1


async def test_an_application_without_finalizer_has_its_end_told(
    stopped_agent: AgentFixture,
) -> None:
    agent = stopped_agent
    agent.commit({"web/b.yaml": SECOND})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    async with agent_process(agent), bus_of(agent.settings) as bus:
        await agent.until_synced("web")
        await agent.delete_app("web")
        await a_fact(bus, AppDeleted)
    async with agent_process(agent, "second"), bus_of(agent.settings) as bus:
        await eventually(lambda: all_done(bus), within=120)
        assert len(await facts(bus, AppDeleted)) == 1
