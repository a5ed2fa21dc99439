"""An agent whose clock is an hour from the service's works like any other."""

import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from bus.link import Task, TaskKind, TaskPhase
from tests.bridge.farend import FarEnd
from tests.flows.house import House
from tests.support import eventually

pytestmark = pytest.mark.flow

HOUR = 3600.0


@pytest.fixture(params=[-HOUR, HOUR], ids=["agent ahead", "agent behind"])
async def far(request: pytest.FixtureRequest) -> AsyncIterator[FarEnd]:
    async with FarEnd(ahead=request.param, beat_seconds=0.5).open() as far:
        yield far


def refs(house: House, not_after: float) -> Task:
    return Task(
        id=uuid.uuid4().hex,
        kind=TaskKind.REFS,
        subject="",
        actor="ann",
        arguments={"url": house.repository.url},
        not_after=datetime.fromtimestamp(not_after, UTC).isoformat(),
    )


async def test_a_task_is_begun_in_time_by_the_services_clock(linked: House, far: FarEnd) -> None:
    async with linked.running():
        await far.connected()
        in_time = await far.do(refs(linked, far.now() + 60))
        too_late = await far.do(refs(linked, far.now() - 60))
    assert in_time.phase is not TaskPhase.EXPIRED, in_time
    assert (too_late.phase, too_late.code) == (TaskPhase.EXPIRED, "expired")


async def test_a_session_is_renewed_before_it_is_over(linked: House, far: FarEnd) -> None:
    far.lifetime = 6.0
    async with linked.running():
        await eventually(lambda: far.sessions >= 3, what="renewed twice")
        assert len(far.hellos) == 1
