"""Whoever may read facts hears what becomes of the applications' objects, and can do no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import nats
import pytest

from agent.buses import bus_url, subscriber_settings
from agent.settings.bus_settings import NatsSettings
from bus.events import ObjectChanged, SyncApp
from bus.events.object_facts import WatchChange
from bus.identity import AppKey
from bus.jetstream import Bus
from bus.subjects import subject_of
from tests.flows.agent_fixture import SERVER, AgentFixture
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}
BEGINNING = datetime.fromtimestamp(0, UTC)
MANAGER = "argocd-controller"
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  paused: true
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
"""


@pytest.fixture
async def agent_with_logins(stopped_agent: AgentFixture) -> AsyncIterator[AgentFixture]:
    """The agent runs a NATS of its own, which lets nobody in without a login."""
    own = {"nats": NatsSettings()}
    stopped_agent.settings = stopped_agent.settings.model_copy(update=own)
    async with stopped_agent.running():
        yield stopped_agent


async def scaled(agent: AgentFixture, replicas: int) -> None:
    """Scale as `kubectl scale` does."""
    path = f"/apis/apps/v1/namespaces/{agent.destination}/deployments/web/scale"
    by = {"fieldManager": "kubectl"}
    await agent.parts.client.merge_patch(path, {"spec": {"replicas": replicas}}, by)


async def test_a_stranger_hears_of_a_scaled_deployment_and_publishes_no_command(
    agent_with_logins: AgentFixture,
) -> None:
    agent = agent_with_logins
    agent.commit({"web/web.yaml": DEPLOYMENT})
    login = subscriber_settings(agent.settings, bus_url(agent.settings))
    heard: list[ObjectChanged] = []
    async with Bus.open(login) as bus, bus.facts(since=BEGINNING) as facts:

        async def listen() -> None:
            async for _, fact in facts:
                heard.extend((fact,) if isinstance(fact, ObjectChanged) else ())

        listening = asyncio.create_task(listen())
        await agent.apply_app("web", "web", syncPolicy=HEALING)
        await agent.until_synced("web", health="Suspended")
        first = (await eventually(lambda: heard))[0]
        assert (first.change, first.managers) == (WatchChange.ADDED, (MANAGER,))
        await scaled(agent, 3)

        def of_kubectl() -> list[ObjectChanged]:
            return [fact for fact in heard if "kubectl" in fact.managers]

        await eventually(of_kubectl, what="the fact of kubectl's write")
        await eventually(lambda: any(MANAGER in fact.managers for fact in heard[1:]))
        fact = of_kubectl()[0]
        assert fact.app == AppKey(agent.namespace, "web")
        assert (fact.change, fact.fields) == (WatchChange.MODIFIED, ("spec.replicas",))
        assert fact.object == f"apps/Deployment/{agent.destination}/web"
        assert fact.server == SERVER
        assert fact.health is not None
        listening.cancel()
    command = SyncApp(id="1", actor="stranger", app=fact.app)
    denials: list[str] = []

    async def note(error: Exception) -> None:
        denials.append(str(error).lower())

    stranger = await nats.connect(login.url, nkeys_seed_str=login.nkey_seed, error_cb=note)
    try:
        await stranger.publish(subject_of(login.scope, command), b"{}")
        await stranger.flush()
        await eventually(lambda: denials)
    finally:
        await stranger.close()
    assert "permissions violation for publish" in denials[0]
