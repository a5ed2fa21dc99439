"""What the agent holds of the tasks that it is offered."""

from typing import Any, cast

from agent.bridge.tasks.task_queue import TaskQueue
from bus.link import LinkTask, TaskKind, TerminalInput


def task(number: int, size: int) -> LinkTask:
    result = {"text": "x" * size}
    return LinkTask(id=str(number), kind=TaskKind.PUT, subject="a/b", actor="ann", arguments=result)


def test_the_bytes_of_waiting_tasks_are_bounded() -> None:
    """The service decides how many it offers and how much each says."""
    nothing = cast("Any", None)
    queue = TaskQueue(runner=nothing, reports=nothing)
    for number in range(100):
        queue.offer(task(number, 1_000_000))
    assert 20 < len(queue.running) < 40


def test_many_small_tasks_wait_together() -> None:
    nothing = cast("Any", None)
    queue = TaskQueue(runner=nothing, reports=nothing)
    for number in range(1000):
        queue.offer(task(number, 100))
    assert len(queue.running) == 1000


def test_input_is_kept_for_shells_alone_and_few_shells_wait() -> None:
    """The service types without waiting: what it sends ahead is held in the agent's memory."""
    nothing = cast("Any", None)
    queue = TaskQueue(runner=nothing, reports=nothing)
    sync = LinkTask(id="sync", kind=TaskKind.SYNC, subject="a/web", actor="ann")
    queue.offer(sync)
    queue.input(TerminalInput(task="sync", number=0, text="x"))
    for number in range(100):
        queue.offer(LinkTask(id=f"s{number}", kind=TaskKind.EXEC, subject="a/web", actor="ann"))
    queue.input(TerminalInput(task="s0", number=0, text="x"))
    held = {name: it.input._characters for name, it in queue._running.items()}
    assert (held["sync"], held["s0"]) == (0, 1)
    assert len(held) < 20
