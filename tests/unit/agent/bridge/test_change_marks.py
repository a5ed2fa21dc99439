"""Marks are collected until one pass takes them all; nothing runs where nothing is marked."""

import asyncio

from agent.bridge.reporting.change_marks import ChangeMarks


async def test_marks_of_a_burst_are_taken_in_one_pass() -> None:
    marks = ChangeMarks(collect_seconds=0.0)
    marks.add(("a", "b"))
    marks.add(("a",))
    await marks.wait()
    assert (marks.take(), marks.take()) == ({"a", "b"}, set())


async def test_a_mark_ends_the_wait() -> None:
    marks = ChangeMarks(collect_seconds=0.0)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(marks.wait())
        await asyncio.sleep(0)
        marks.add(("a",))


async def test_taken_marks_do_not_end_the_next_wait() -> None:
    marks = ChangeMarks(collect_seconds=0.0)
    marks.add(("a",))
    marks.take()
    waiting = asyncio.ensure_future(marks.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    marks.add(("b",))
    await asyncio.wait_for(waiting, 60)


async def test_a_wait_without_marks_ends_in_its_time() -> None:
    marks = ChangeMarks(collect_seconds=0.0)
    marks.add(())
    await marks.wait(within=0.0)
    assert marks.take() == set()
