"""The poll safety net: who is due when, and what a lost bus does to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from agent.ingress.poll_timer import FIRST_WITHIN, LOOK_AT_LEAST_EVERY, PollTimer, Schedule
from bus.carrier import CarrierError
from bus.events import Event, RefreshRepository
from bus.identity import RepositoryKey

A, B = RepositoryKey("https://git.example/A.git"), RepositoryKey("https://git.example/b")


def schedule(seed: int = 1, jitter: float = 0.2) -> Schedule:
    return Schedule(interval=100.0, jitter=jitter, random=Random(seed))  # noqa: S311  chance, not secrecy


def ticks(plan: Schedule, until: float, in_use: Sequence[RepositoryKey]) -> Iterator[float]:
    """The moments at which the first of `in_use` is due, looked at as the timer does."""
    now = 0.0
    while now < until:
        if in_use[0] in plan.due(now, in_use):
            yield now
        now += max(plan.wait(now), 0.01)


@given(seed=st.integers(), jitter=st.floats(0, 1))
def test_every_repository_is_due_once_an_interval(seed: int, jitter: float) -> None:
    times = list(ticks(schedule(seed, jitter), 1000.0, [A]))

    gaps = [after - before for before, after in pairwise(times)]
    assert times[0] <= FIRST_WITHIN + 0.1
    assert all(100 * (1 - jitter) - 0.1 <= gap <= 100 * (1 + jitter) + 0.1 for gap in gaps)


def test_chance_spreads_repositories_and_repeats_with_its_seed() -> None:
    plans = [schedule(7), schedule(7)]
    both = [A, B]

    assert [p.due(0.0, both) for p in plans] == [(), ()]
    assert list(ticks(plans[0], 500.0, both)) == list(ticks(plans[1], 500.0, both))
    assert list(ticks(schedule(7), 500.0, [A, B])) != list(ticks(schedule(7), 500.0, [B, A]))


def test_a_repository_out_of_use_is_forgotten() -> None:
    plan = schedule()
    plan.due(0.0, [A, B])

    assert plan.due(1000.0, [B]) == (B,)


def test_new_repositories_are_found_while_nothing_is_due() -> None:
    assert schedule().wait(0.0) == LOOK_AT_LEAST_EVERY


class PolledApplications:
    def followed_repositories(self) -> Sequence[RepositoryKey]:
        return [A]


class Heard:
    """A bus that is lost for its first calls."""

    def __init__(self, lost: int = 0) -> None:
        self.lost = lost
        self.events: list[Event] = []

    async def __call__(self, *events: Event, message_id: str = "") -> None:
        self.lost -= 1
        if self.lost >= 0:
            raise CarrierError("no server")
        self.events += events


async def test_a_lost_bus_does_not_end_the_timer() -> None:
    now = iter([0.0, 200.0, 400.0])
    heard = Heard(lost=1)
    timer = PollTimer(
        apps=PolledApplications(),
        publish=heard,
        schedule=schedule(),
        interval=lambda: 100.0,
        now=lambda: next(now),
    )

    for _ in range(3):
        await timer.publish_due()

    assert heard.events == [RefreshRepository(repository=A)]


def test_a_shorter_interval_holds_from_now_on() -> None:
    plan = schedule(jitter=0.0)
    plan.due(10.0, [A])
    assert plan.due(20.0, [A]) == (A,)
    plan.change(30.0, 20.0)
    assert (plan.due(49.0, [A]), plan.due(51.0, [A])) == ((), (A,))


def test_without_an_interval_a_repository_is_looked_at_once() -> None:
    """What was pushed while no agent ran is found; nothing is asked for after that."""
    plan = Schedule(interval=0.0, jitter=0.2, random=Random(1))  # noqa: S311  chance, not secrecy
    plan.due(0.0, [A])
    assert plan.due(FIRST_WITHIN, [A]) == (A,)
    assert plan.due(1e9, [A]) == ()
    assert plan.wait(1e9) == LOOK_AT_LEAST_EVERY
    plan.change(100.0, 1e9)
    assert plan.due(1e9 + 121, [A]) == (A,)
