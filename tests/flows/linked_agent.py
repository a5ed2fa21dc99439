"""An agent linked to a real service, and an administrator of that service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tests.flows.administrator import Administrator, administrator
from tests.flows.agent_fixture import AgentFixture
from tests.flows.fake_service_link import allow, linked_by
from tests.service.service_fixture import RunningService, open_service, settings


@dataclass(frozen=True, slots=True)
class LinkedAgent:
    agent: AgentFixture
    running_service: RunningService
    admin: Administrator


@asynccontextmanager
async def open_linked_agent(
    agent: AgentFixture,
    database_url: str,
    folder: Path,
    limits: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[LinkedAgent]:
    """`agent` is yet to be started; its agent is in the region `eu`.

    `limits`: what its owner says in `gitops-agent-limits`.
    """
    quick = settings(database_url, roots_seconds=1.0)
    async with open_service(quick) as service:
        running_service = RunningService(service)
        await allow(agent, **limits)
        linked_by(
            await running_service.token(await running_service.agent(region="eu")),
            service.url,
            agent,
            folder,
        )
        async with administrator(running_service) as admin, agent.running():
            yield LinkedAgent(agent=agent, running_service=running_service, admin=admin)
