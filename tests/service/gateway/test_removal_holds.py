"""Many deletions at once wait, whichever way they come; few are believed at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from service.projection.batch import Batch, ReportedState
from service.projection.removal_guard import WITHIN, ShrinkingKind, hold_many
from service.store.tables import agents, applications
from tests.service.fake_agent import FakeOutbox, application, connect, resync
from tests.service.service_fixture import RunningService

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def test_tombstones_of_everything_are_held_until_two_looks_miss_the_same(
    running_service: RunningService,
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.state(application(f"a{n}")) for n in range(30)])
        gone = [outbox.gone("Application", f"argocd/a{n}") for n in range(30)]
        for one in gone:  # each for itself is a single deletion
            await link.put([one])
        left = await running_service.rows(applications)
        assert len(left) >= 20
        assert all(it.suspect for it in left)
        (agent,) = await running_service.rows(agents)
        assert agent.doubted["Application"]["count"] > 0
        assert await resync(link, outbox) == 0
        assert len(await running_service.rows(applications)) == len(left)
        assert await resync(link, outbox) == len(left)
        assert await running_service.rows(applications) == []


async def test_deletions_of_a_few_of_many_objects_are_applied_at_once(
    running_service: RunningService,
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.state(application(f"a{n}")) for n in range(30)])
        await link.put([outbox.gone("Application", f"argocd/a{n}") for n in range(6)])
    assert len(await running_service.rows(applications)) == 24


def tombstones(*names: str) -> Batch:
    return Batch(states=tuple(state(name) for name in names))


def state(name: str) -> ReportedState:
    return ReportedState(
        kind="Application", subject=name, uid="", hash="", project="", time=NOON, sequence=1
    )


@pytest.mark.parametrize(
    ("known", "gone", "held"),
    [(100, 10, 0), (100, 20, 0), (100, 21, 21), (20, 10, 0), (20, 11, 11), (5, 5, 0)],
)
def test_more_than_ten_and_more_than_a_fifth_are_many(known: int, gone: int, held: int) -> None:
    names = [str(number) for number in range(known)]
    found = hold_many(tombstones(*names[:gone]), {"Application": names}, {}, NOON)
    assert len(found.held.get("Application", ())) == held
    assert len(found.batch.states) == gone - held


@pytest.mark.parametrize(("later", "held"), [(WITHIN, True), (WITHIN + timedelta(1), False)])
def test_what_vanished_shortly_before_counts(later: timedelta, *, held: bool) -> None:
    before = {"Application": ShrinkingKind(since=NOON, known=100)}
    names = [str(number) for number in range(80)]
    found = hold_many(tombstones("1"), {"Application": names}, before, NOON + later)
    assert bool(found.held) is held


def test_what_comes_back_in_the_same_batch_is_not_gone() -> None:
    names = [str(number) for number in range(20)]
    again = ReportedState(
        kind="Application",
        subject="0",
        uid="",
        hash="",
        project="",
        time=NOON,
        sequence=2,
        body=application("0"),
    )
    batch = Batch(states=(*tombstones(*names[:11]).states, again))
    assert not hold_many(batch, {"Application": names}, {}, NOON).held
