"""Slots go to projects in turn: by order, not by time."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.client.fair_queue import FairQueue, QueueFullError, next_project
from tests.support import eventually


class Holders:
    """Callers that take a slot, say so, and hold it until they are told to let go."""

    def __init__(self, queue: FairQueue[None], group: asyncio.TaskGroup) -> None:
        self.served: list[str] = []
        self._queue = queue
        self._group = group
        self._holding: asyncio.Queue[asyncio.Event] = asyncio.Queue()

    async def come(self, *projects: str) -> None:
        for project in projects:
            self._group.create_task(self._hold(project), name=project)
            await asyncio.sleep(0)

    async def let_go(self, times: int) -> None:
        """Each time the one that has held a slot longest."""
        for _ in range(times):
            (await self._holding.get()).set()

    async def _hold(self, project: str) -> None:
        async with self._queue.slot(project):
            let_go = asyncio.Event()
            self._holding.put_nowait(let_go)
            self.served.append(project)
            await let_go.wait()


async def served(slots: int, came: Sequence[str]) -> list[str]:
    queue = FairQueue([None] * slots)
    async with asyncio.TaskGroup() as group:
        holders = Holders(queue, group)
        await holders.come(*came)
        await holders.let_go(len(came))
    assert not queue.waiting
    return holders.served


@pytest.mark.parametrize(
    ("slots", "came", "expected"),
    [
        (1, "aaab", "abaa"),
        (2, "aaaab", "aabaa"),
        (2, "aaaabb", "aababa"),
        (1, "abcabc", "abcabc"),
        (2, "abcd", "abcd"),
    ],
)
async def test_projects_take_turns(slots: int, came: str, expected: str) -> None:
    assert "".join(await served(slots, came)) == expected


async def test_a_project_alone_has_every_slot() -> None:
    assert len(await served(3, "aaa")) == 3


@given(st.lists(st.sampled_from("abcd"), max_size=20), st.integers(1, 4))
async def test_everybody_is_served_once(came: list[str], slots: int) -> None:
    assert sorted(await served(slots, came)) == sorted(came)


@given(
    st.lists(st.sampled_from("abcd"), min_size=1, unique=True),
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 5)),
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 5)),
)
def test_nobody_is_served_before_one_that_holds_less(
    waiting: list[str], held: dict[str, int], turns: dict[str, int]
) -> None:
    chosen = next_project(waiting, held, turns)
    assert all(held.get(chosen, 0) <= held.get(other, 0) for other in waiting)
    equals = [one for one in waiting if held.get(one, 0) == held.get(chosen, 0)]
    assert all(turns.get(chosen, 0) <= turns.get(other, 0) for other in equals)


async def test_who_is_cancelled_while_waiting_leaves_no_trace() -> None:
    queue = FairQueue([None])
    async with asyncio.TaskGroup() as group:
        holders = Holders(queue, group)
        await holders.come("a")
        waiter = group.create_task(queue.slot("b").__aenter__())
        await eventually(lambda: queue.has("b"), what="b waits")
        waiter.cancel()
        await eventually(lambda: not queue.has("b"), what="b waits no more")
        await holders.let_go(1)
    assert not queue.has("a")


async def test_a_slot_given_to_who_is_cancelled_goes_on() -> None:
    queue = FairQueue([None])
    async with asyncio.TaskGroup() as group:
        async with queue.slot("a"):
            waiter = group.create_task(queue.slot("b").__aenter__())
            await eventually(lambda: queue.has("b"), what="b waits")
        waiter.cancel()  # served, but not run since
        async with asyncio.timeout(60), queue.slot("c"):
            assert not queue.has("b")


async def test_who_is_sent_away_holds_nothing() -> None:
    queue = FairQueue([None])
    async with asyncio.TaskGroup() as group:
        async with queue.slot("a"):
            waiters = [group.create_task(_refused(queue, "b")) for _ in range(3)]
            await eventually(lambda: queue.waits("b") == 3, what="all wait")
            queue.send_away("b", keep=1)
            assert queue.waits("b") == 1
        assert sorted([await waiter for waiter in waiters]) == [False, True, True]
    assert not queue.has("b")


async def _refused(queue: FairQueue[None], project: str) -> bool:
    try:
        async with queue.slot(project):
            return False
    except QueueFullError:
        return True
