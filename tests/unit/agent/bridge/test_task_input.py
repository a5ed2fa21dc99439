"""Input of a task: in order, bounded, or ended with the reason."""

import asyncio

import pytest

from agent.bridge.tasks.task_input import InputEndedError, TaskInput
from bus.link import LONGEST_INPUT, TerminalInput


def frame(number: int, text: str = "a") -> TerminalInput:
    return TerminalInput(task="t", number=number, text=text)


async def ended(task_input: TaskInput) -> str:
    with pytest.raises(InputEndedError) as error:
        await task_input.take()
    return str(error.value)


async def test_input_comes_in_order_also_when_somebody_waits_for_it() -> None:
    task_input = TaskInput()
    waiting = asyncio.ensure_future(task_input.take())
    await asyncio.sleep(0)
    task_input.put(frame(0, "first"))
    task_input.put(frame(1, "second"))
    assert [(await waiting).text, (await task_input.take()).text] == ["first", "second"]


@pytest.mark.parametrize("number", [0, 2, -1])
async def test_input_that_was_lost_or_repeated_ends_it(number: int) -> None:
    task_input = TaskInput()
    task_input.put(frame(0))
    task_input.put(frame(number))
    assert "lost on the way" in await ended(task_input)


async def test_a_flood_ends_it_and_holds_no_memory() -> None:
    task_input = TaskInput()
    for number in range(2000):
        task_input.put(frame(number, "x" * LONGEST_INPUT))
    assert "faster than the container takes it" in await ended(task_input)
    assert not task_input._waiting


async def test_little_waits_for_a_task_that_has_not_begun() -> None:
    task_input = TaskInput()
    for number in range(3):
        task_input.put(frame(number, "x" * LONGEST_INPUT))
    assert "faster than the container takes it" in await ended(task_input)


async def test_one_input_has_a_limit_and_the_first_reason_stays() -> None:
    task_input = TaskInput()
    task_input.put(frame(0, "x" * (LONGEST_INPUT + 1)))
    task_input.end("the link to the service was lost")
    assert "at most 4096" in await ended(task_input)
