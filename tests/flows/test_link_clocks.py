"""An agent whose clock is an hour from the service's works like any other."""

import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from bus.link import LinkTask, TaskKind, TaskPhase
from tests.flows.agent_fixture import AgentFixture
from tests.support import eventually
from tests.unit.agent.bridge.fake_service import FakeService

HOUR = 3600.0


@pytest.fixture(params=[-HOUR, HOUR], ids=["agent ahead", "agent behind"])
async def fake_service(request: pytest.FixtureRequest) -> AsyncIterator[FakeService]:
    async with FakeService(ahead=request.param, beat_seconds=0.5).open() as fake_service:
        yield fake_service


def refs(agent: AgentFixture, not_after: float) -> LinkTask:
    return LinkTask(
        id=uuid.uuid4().hex,
        kind=TaskKind.REFS,
        subject="",
        actor="ann",
        arguments={"url": agent.repository.url},
        not_after=datetime.fromtimestamp(not_after, UTC).isoformat(),
    )


async def test_a_task_is_begun_in_time_by_the_services_clock(
    linked_agent: AgentFixture, fake_service: FakeService
) -> None:
    async with linked_agent.running():
        await fake_service.connected()
        in_time = await fake_service.do(refs(linked_agent, fake_service.now() + 60))
        too_late = await fake_service.do(refs(linked_agent, fake_service.now() - 60))
    assert in_time.phase is not TaskPhase.EXPIRED, in_time
    assert (too_late.phase, too_late.code) == (TaskPhase.EXPIRED, "expired")


async def test_a_session_is_renewed_before_it_is_over(
    linked_agent: AgentFixture, fake_service: FakeService
) -> None:
    fake_service.lifetime = 24.0  # it is renewed after two thirds of that
    async with linked_agent.running():
        await eventually(lambda: fake_service.sessions >= 2, what="renewed")
        assert len(fake_service.hellos) == 1
