"""A control plane that means harm: it speaks the link's protocol and says whatever it likes.

The agent is a real one on a real API server, with rights on everything, so that nothing but the
policy of the cluster's owner is in the way. The owner permits the namespace `destination` only.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.hostile_service.hostile import Hostile
from tests.flows.agent_fixture import AgentFixture
from tests.flows.conftest import definitions, fake_service, stopped_agent
from tests.flows.fake_service_link import acting, allow, linked_to
from tests.unit.agent.bridge.fake_service import FakeService

__all__ = ["definitions", "fake_service", "stopped_agent"]


@pytest.fixture
async def hostile(
    stopped_agent: AgentFixture, fake_service: FakeService, tmp_path: Path
) -> AsyncIterator[Hostile]:
    victim = f"victim-{uuid.uuid4().hex[:8]}"
    agent = stopped_agent
    await agent.api.create_namespace(victim)
    watched = (agent.namespace, agent.destination, victim)
    agent.settings = agent.settings.model_copy(update={"destination_namespaces": watched})
    await allow(agent, namespaces=agent.destination)
    async with acting(linked_to(fake_service, agent, tmp_path), fake_service) as link:
        yield Hostile(link, victim)
    await agent.api.delete(f"/api/v1/namespaces/{victim}")
