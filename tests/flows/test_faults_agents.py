"""Too many messages, too many agents: what an agent says of itself, and what it does."""

from typing import Any

from bus.events import CompareApp
from bus.identity import AppKey
from bus.jetstream import Bus
from tests.flows.agent_fixture import AgentFixture, config_map, is_synced
from tests.flows.agent_process import AgentProcess, agent_process, allow_webhooks, bus_of
from tests.flows.evidence import dead_letters, waiting
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}
REFRESH = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
FLOOD = 10_000
_MIB = 1024 * 1024


async def test_ten_thousand_waiting_messages_are_worked_off_in_bounded_memory(
    stopped_agent: AgentFixture,
) -> None:
    """Ready means that the handlers run, however much waits; new work is not left behind."""
    agent_fixture = stopped_agent
    sha = agent_fixture.commit({"web/a.yaml": config_map("a", key="1")})
    async with bus_of(agent_fixture.settings) as bus:
        await bus.provision()
        nobody = (AppKey(agent_fixture.namespace, f"nobody-{number}") for number in range(FLOOD))
        await bus.publish(*(CompareApp(app=app) for app in nobody))
        assert await waiting(bus, "ASK") == FLOOD
        async with agent_process(agent_fixture) as agent:
            await agent.until_ready()
            at_first = agent.peak_memory()
            await agent_fixture.apply_app("web", "web", syncPolicy=HEALING)
            app = await agent_fixture.until_synced("web")
            assert app["status"]["sync"]["revision"] == sha
            await eventually(lambda: nothing_waits(bus), within=120)
            assert await agent.missing() == {}
            assert agent.peak_memory() - at_first < 64 * _MIB
        assert await dead_letters(bus) == []


async def nothing_waits(bus: Bus) -> bool:
    return await waiting(bus, "ASK") == 0


async def test_of_two_agents_one_stands_by_takes_webhooks_and_takes_over_when_the_other_dies(
    stopped_agent: AgentFixture,
) -> None:
    agent_fixture = stopped_agent
    await allow_webhooks(agent_fixture)
    agent_fixture.commit({"web/a.yaml": config_map("a", key="1")})
    await agent_fixture.apply_app("web", "web", syncPolicy=HEALING)
    lease = {"GITOPS_LEASE_ENABLED": "true"}
    async with agent_process(agent_fixture, "first", **lease) as first:
        await first.until_ready()
        second_state = str(agent_fixture.settings.state_dir.parent / "second")
        async with agent_process(
            agent_fixture, "second", GITOPS_STATE_DIR=second_state, **lease
        ) as second:
            await eventually(lambda: stands_by(second))
            await agent_fixture.until_synced("web")
            agent_fixture.repository.webhook = second.webhook
            pushed = agent_fixture.commit({"web/a.yaml": config_map("a", key="3")})
            await agent_fixture.until(lambda app: is_at(app, pushed), app="web")
            agent_fixture.repository.webhook = None
            assert not second.logged("acting")
            assert second.logged("waiting: another agent leads")[0]["holder"]
            first.child.kill()
            sha = agent_fixture.commit({"web/a.yaml": config_map("a", key="2")})
            await second.until_ready()
            assert second.logged("acting")
            await agent_fixture.until(lambda app: is_at(app, sha), app="web")
            live = await agent_fixture.get("configmaps/a")
            assert live is not None
            assert live["data"] == {"key": "2"}


async def stands_by(standby: AgentProcess) -> bool:
    """Ready, so that `helm --wait` ends and webhooks may come; and it says that it does not act."""
    return not await standby.missing() and not await standby.acts()


def is_at(app: dict[str, Any], revision: str) -> bool:
    return is_synced(app) and bool(app["status"]["sync"]["revision"] == revision)


async def test_who_loses_the_lease_stands_by_in_the_same_process_and_acts_again(
    stopped_agent: AgentFixture,
) -> None:
    """Nobody has to start it again, and it names who leads instead of itself."""
    agent_fixture = stopped_agent
    agent_fixture.commit({"web/a.yaml": config_map("a", key="1")})
    await agent_fixture.apply_app("web", "web", syncPolicy=HEALING)
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{agent_fixture.namespace}/leases/gitops-agent"
    usurped = {"spec": {"holderIdentity": "usurper", "leaseDurationSeconds": 5}}
    async with agent_process(agent_fixture, "first", GITOPS_LEASE_ENABLED="true") as agent:
        await agent.until_ready()
        await agent_fixture.until_synced("web")
        process = agent.child.pid
        await agent_fixture.api.patch(lease, usurped)
        await eventually(lambda: agent.logged("no longer acting: standing by"), within=120)
        assert agent.logged("no longer acting: standing by")[0]["cause"] == "usurper leads now"
        sha = agent_fixture.commit({"web/a.yaml": config_map("a", key="2")})
        await eventually(lambda: len(agent.logged("acting")) == 2, within=120)
        await agent_fixture.patch_app("web", REFRESH)
        await agent_fixture.until(lambda app: is_at(app, sha), app="web")
        assert agent.child.pid == process
