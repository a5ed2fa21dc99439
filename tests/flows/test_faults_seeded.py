"""Pushes, hand edits and crashes in random order; then quiet: live equals Git, all is told once.

Repeat a run with the seed it printed: GITOPS_FAULT_SEED=4711. More and longer walks:
GITOPS_FAULT_STEPS=200.
"""

import os
from collections import Counter
from collections.abc import AsyncIterator
from random import Random, SystemRandom

import pytest
from pydantic import SecretStr

from bus.events import HealthAssessed, OperationFinished, OperationStarted
from bus.jetstream import Bus
from bus.status import HealthStatus
from playground.githost import GitHost
from playground.server import Server
from tests.flows.agent_fixture import AgentFixture, conditions, is_synced
from tests.flows.agent_process import allow_webhooks, bus_of, prepared
from tests.flows.chaos import APPS, Chaos
from tests.flows.evidence import dead_letters, facts
from tests.support import eventually

pytestmark = pytest.mark.timeout(600)

SEED = int(os.environ.get("GITOPS_FAULT_SEED", SystemRandom().randrange(10**6)))
STEPS = int(os.environ.get("GITOPS_FAULT_STEPS", "12"))


@pytest.fixture
async def chaos(
    stopped_agent: AgentFixture, own_nats: Server, own_git_host: GitHost
) -> AsyncIterator[Chaos]:
    """The agent polls often, because hosts do not repeat a webhook that met a dead agent."""
    agent_fixture = stopped_agent
    nats = agent_fixture.settings.nats.model_copy(update={"url": SecretStr(own_nats.url)})
    agent_fixture.settings = agent_fixture.settings.model_copy(update={"nats": nats})
    agent_fixture.repository = own_git_host.create("team/apps")
    await allow_webhooks(agent_fixture)
    agent = prepared(agent_fixture, GITOPS_POLL_INTERVAL="5s")
    async with agent.child:
        agent_fixture.repository.webhook = agent.webhook
        chance = Random(SEED)  # noqa: S311  guards nothing
        yield Chaos(
            agent_fixture=agent_fixture,
            agent=agent,
            nats=own_nats,
            host=own_git_host,
            random=chance,
        )
        agent_fixture.repository.webhook = None


async def test_after_any_faults_live_equals_git(chaos: Chaos) -> None:
    await chaos.begin()
    await chaos.walk(STEPS)
    await chaos.bring_back()
    try:
        await eventually(lambda: is_as_in_git(chaos), within=120)
        async with bus_of(chaos.agent_fixture.settings) as bus:
            assert await dead_letters(bus) == []
            await eventually(lambda: has_all_facts(bus))
    except AssertionError as error:
        error.add_note(f"GITOPS_FAULT_SEED={SEED}: {', '.join(chaos.story)}")
        error.add_note(chaos.agent.log[-20_000:])
        raise


async def has_all_facts(bus: Bus) -> bool:
    """Each operation's begin and end once, and each health follows from the one before."""
    begins = Counter(one.operation for one in await facts(bus, OperationStarted))
    ends = Counter(one.operation for one in await facts(bus, OperationFinished))
    assert begins == ends
    assert set(begins.values()) == {1}
    healths = await facts(bus, HealthAssessed)
    for app in {one.app for one in healths}:
        chain = [one for one in healths if one.app == app]
        assert [one.before for one in chain[1:]] == [one.status for one in chain[:-1]]
        assert chain[-1].status is HealthStatus.HEALTHY
    return True


async def is_as_in_git(chaos: Chaos) -> bool:
    assert await chaos.live() == chaos.git
    for name in APPS:
        app = await chaos.agent_fixture.app(name)
        assert is_synced(app), f"{name}: {app.get('status')}"
        assert conditions(app) == {}
    return True
