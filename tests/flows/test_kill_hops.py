"""`kill -9` of the agent at every hop of a push: it is started again, and all ends the same."""

from typing import Any

import pytest

from bus.events import AppDeleted, SyncApp
from bus.identity import AppKey
from bus.jetstream import Bus
from tests.flows.agent_fixture import AgentFixture, conditions, config_map
from tests.flows.agent_process import AgentProcess, agent_process, bus_of, command_key_of, prepared
from tests.flows.evidence import a_fact, dead_letters, waiting
from tests.flows.killed_agent import VARIABLE
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}
FINALIZER = "resources-finalizer.argocd.argoproj.io"
DYING = ("-m", "tests.flows.killed_agent")

HANDLERS = ("refresh", "render", "compare", "decide", "step", "assess")
PLACES = [
    *(f"{when}:{handler}" for handler in HANDLERS for when in ("before", "after")),
    "after:apply",
    "before:ack step",
]


def dying(agent: AgentFixture, place: str) -> AgentProcess:
    return prepared(agent, "dying", DYING, **{VARIABLE: place})


@pytest.mark.parametrize("place", PLACES)
async def test_work_goes_on_after_a_kill_and_ends_the_same(
    stopped_agent: AgentFixture, place: str
) -> None:
    agent = stopped_agent
    sha = agent.commit({"web/a.yaml": config_map("a", key="1"), "web/b.yaml": config_map("b")})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await dying(agent, place).until_killed()
    async with agent_process(agent), bus_of(agent.settings) as bus:
        app = await agent.until_synced("web")
        assert_deployed_once(app, sha)
        live = await agent.get("configmaps/a")
        assert live is not None
        assert live["data"] == {"key": "1"}
        assert await agent.get("configmaps/b") is not None
        assert await dead_letters(bus) == []


def assert_deployed_once(app: dict[str, Any], sha: str) -> None:
    status = app["status"]
    assert status["sync"]["revision"] == sha
    assert [one["revision"] for one in status["history"]] == [sha]
    assert status["operationState"]["phase"] == "Succeeded"
    assert conditions(app) == {}
    assert "operation" not in app


WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: first}
spec:
  minReadySeconds: 2
  selector: {matchLabels: {app: first}}
  template:
    metadata: {labels: {app: first}}
    spec: {containers: [{name: main, image: example/none}]}
"""
SECOND = config_map("second").replace(
    "{name:", "{annotations: {argocd.argoproj.io/sync-wave: '1'}, name:"
)


@pytest.mark.parametrize("place", ["after:apply", "after:step", "before:ack step"])
async def test_an_operation_of_two_waves_goes_on_from_its_status(
    stopped_agent: AgentFixture, place: str
) -> None:
    agent = stopped_agent
    sha = agent.commit({"web/a.yaml": WORKLOAD, "web/b.yaml": SECOND})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await dying(agent, place).until_killed()
    left = await agent.app("web")
    assert await agent.get("configmaps/second") is None
    async with agent_process(agent), bus_of(agent.settings) as bus:
        app = await agent.until_synced("web")
        assert_deployed_once(app, sha)
        assert await agent.get("configmaps/second") is not None
        assert operation_ids(left) in ([], operation_ids(app))
        assert await dead_letters(bus) == []


def operation_ids(app: dict[str, Any]) -> list[str]:
    """None where no operation was written down yet."""
    state = app.get("status", {}).get("operationState", {})
    info = state.get("operation", {}).get("info", ())
    return [one["value"] for one in info if one["name"] == "operationId"]


@pytest.mark.parametrize("place", ["before:delete", "after:delete"])
async def test_a_deletion_goes_on(stopped_agent: AgentFixture, place: str) -> None:
    agent = stopped_agent
    agent.commit({"web/a.yaml": WORKLOAD, "web/b.yaml": SECOND})
    await agent.apply_app("web", "web", syncPolicy=HEALING, metadata={"finalizers": [FINALIZER]})
    async with agent_process(agent, "first"):
        await agent.until_synced("web")
    await agent.delete_app("web")
    await dying(agent, place).until_killed()
    async with agent_process(agent), bus_of(agent.settings) as bus:
        await a_fact(bus, AppDeleted)
        await agent.until_gone("apps/v1/deployments/first")
        await agent.until_gone("configmaps/second")
        assert await dead_letters(bus) == []


async def test_what_was_not_acknowledged_is_delivered_again_and_done_once(
    stopped_agent: AgentFixture,
) -> None:
    """An ask whose work was done changes nothing; a command whose work was not done is obeyed."""
    agent = stopped_agent
    sha = agent.commit({"web/a.yaml": config_map("a"), "hand/b.yaml": config_map("b")})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await dying(agent, "after:step").until_killed()
    before = await agent.get("configmaps/a")
    await agent.apply_app("hand", "hand")
    async with bus_of(agent.settings, await command_key_of(agent)) as bus:
        command = SyncApp(app=AppKey(agent.namespace, "hand"), id="c1", actor="anna")
        await bus.publish(command)
        await dying(agent, "before:sync").until_killed()
        assert await agent.get("configmaps/b") is None
        async with agent_process(agent):
            assert_deployed_once(await agent.until_synced("hand"), sha)
            await eventually(lambda: all_done(bus), within=120)
            assert_deployed_once(await agent.until_synced("web"), sha)
            assert await agent.get("configmaps/a") == before
        assert await dead_letters(bus) == []


async def all_done(bus: Bus) -> bool:
    return await waiting(bus, "ASK") == 0 == await waiting(bus, "CMD")
