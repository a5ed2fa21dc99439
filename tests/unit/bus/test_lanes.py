import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from bus.lanes import Lanes


@dataclass(frozen=True)
class Work:
    lane: str
    sequence: int
    slot: object = None
    continues: bool = False


@dataclass
class Capacity:
    """Records what it is asked, and waits at the door where a test closes it."""

    door: asyncio.Event = field(default_factory=asyncio.Event)
    begun: list[Work] = field(default_factory=list)
    done: list[Work] = field(default_factory=list)

    async def __call__(self, work: Work) -> None:
        self.begun.append(work)
        await self.door.wait()
        await asyncio.sleep(0)
        self.done.append(work)


@asynccontextmanager
async def working(lanes: Lanes[Work], handler: Capacity, workers: int = 4) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(lanes.work(handler)) for _ in range(workers)]
        yield
        for task in running:
            task.cancel()


def work(lane: str, sequence: int) -> Work:
    return Work(lane, sequence, slot=sequence)


async def until_nothing_moves() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_lane_is_serial_and_in_order() -> None:
    lanes, handler = Lanes[Work](), Capacity()
    for number in range(5):
        lanes.put(work("a", number))
    async with working(lanes, handler):
        await until_nothing_moves()
        assert [w.sequence for w in handler.begun] == [0]
        handler.door.set()
        await lanes.idle()
    assert [w.sequence for w in handler.done] == [0, 1, 2, 3, 4]


async def test_lanes_work_at_the_same_time_up_to_the_number_of_workers() -> None:
    lanes, handler = Lanes[Work](), Capacity()
    for name in "abcdef":
        lanes.put(work(name, 1))
    async with working(lanes, handler, workers=4):
        await until_nothing_moves()
        assert [w.lane for w in handler.begun] == ["a", "b", "c", "d"]
        handler.door.set()
        await lanes.idle()
    assert len(handler.done) == 6


async def test_a_busy_lane_does_not_starve_the_others() -> None:
    lanes, handler = Lanes[Work](), Capacity()
    handler.door.set()
    for number in range(10):
        lanes.put(work("busy", number))
    lanes.put(work("other", 1))
    async with working(lanes, handler, workers=1):
        await lanes.idle()
    assert [w.lane for w in handler.done][:2] == ["busy", "other"]


async def test_a_lane_dies_with_its_last_item() -> None:
    lanes, handler = Lanes[Work](), Capacity()
    handler.door.set()
    for number in range(3):
        lanes.put(work(str(number), 1))
    assert len(lanes) == 3
    async with working(lanes, handler):
        await lanes.idle()
    assert len(lanes) == 0


def test_a_newer_item_takes_the_place_of_the_one_that_waits() -> None:
    lanes = Lanes[Work]()
    older, newer = Work("a", 1, "ask"), Work("a", 2, "ask")
    assert lanes.put(older) is None
    assert lanes.put(newer) is older
    assert lanes.remove(lambda _: True) == (newer,)


def test_an_older_item_that_comes_late_is_not_needed() -> None:
    lanes = Lanes[Work]()
    older, newer = Work("a", 1, "ask"), Work("a", 2, "ask")
    lanes.put(newer)
    assert lanes.put(older) is older
    assert lanes.remove(lambda _: True) == (newer,)


async def test_an_item_in_work_is_not_replaced() -> None:
    lanes, handler = Lanes[Work](), Capacity()
    lanes.put(Work("a", 1, "ask"))
    async with working(lanes, handler):
        await until_nothing_moves()
        assert lanes.put(Work("a", 2, "ask")) is None
        handler.door.set()
        await lanes.idle()
    assert [w.sequence for w in handler.done] == [1, 2]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), max_size=40))
def test_of_every_slot_the_newest_is_kept_and_each_other_is_given_back(
    arrivals: list[tuple[str, str]],
) -> None:
    lanes = Lanes[Work]()
    items = [Work(lane, number, slot) for number, (lane, slot) in enumerate(arrivals)]
    replaced = [old for item in items if (old := lanes.put(item)) is not None]
    newest = {(item.lane, item.slot): item for item in items}
    kept = lanes.remove(lambda _: True)
    assert set(kept) == set(newest.values())
    assert sorted([*kept, *replaced], key=lambda w: w.sequence) == items


async def test_a_lane_whose_items_were_removed_before_its_turn_ends() -> None:
    lanes, handler = Lanes[Work](), Capacity()
    lanes.put(Work("a", 1, "ask"))
    lanes.put(Work("b", 2, "ask"))
    assert lanes.remove(lambda item: item.lane == "a") == (Work("a", 1, "ask"),)
    handler.door.set()
    async with working(lanes, handler):
        await lanes.idle()
    assert [it.lane for it in handler.done] == ["b"]


async def test_what_was_begun_goes_on_before_anything_new_begins() -> None:
    lanes, handler = Lanes[Work](), Capacity()
    handler.door.set()
    lanes.put(work("new", 1))
    lanes.put(Work("begun", 2, slot=2, continues=True))
    async with working(lanes, handler, workers=1):
        await lanes.idle()
    assert [w.lane for w in handler.begun] == ["begun", "new"]
