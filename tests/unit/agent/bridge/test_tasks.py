"""What the agent holds of the tasks that it is offered."""

from typing import Any, cast

from agent.bridge.tasks.task_queue import TaskQueue
from bus.link import LinkTask, TaskKind


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
