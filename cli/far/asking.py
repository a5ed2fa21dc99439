"""Asking an agent by way of the service: reads that may take a while, and tasks until they end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cli.far import find, shapes
from cli.far.client import Far
from cli.far.errors import FarError
from cli.far.sse import Told
from cli.far.watching import Watch
from cli.say import Exit


async def asked(far: Far, path: str, seconds: float, body: object = None) -> Any:
    """The answer of the agent, also where the service gave only the task for now.

    `body`: of questions that are too long for an address; they are posted.
    """
    answer = await (far.get(path) if body is None else far.post(path, body))
    if not isinstance(answer, dict) or set(answer) != {"task"}:
        return answer
    (plain,) = await ended(far, [answer["task"]], seconds)
    task = shapes.read(plain, shapes.Task)
    if not task.succeeded:
        raise FarError(f"the agent could not: {task.message or task.phase}", Exit.NO)
    return task.result


async def ended(
    far: Far, tasks: Sequence[dict[str, Any]], seconds: float
) -> Sequence[dict[str, Any]]:
    """The tasks at their end; raises FarError with code 5 where the time is over before."""
    waiting = {str(it["id"]): it for it in tasks}
    known = dict(waiting)

    async def look(event: Told | None) -> bool:
        for id_ in tuple(waiting) if event is None else (str(event.data.get("subject")),):
            known[id_] = await far.get(find.path("tasks", id_))
            if shapes.read(known[id_], shapes.Task).ended:
                del waiting[id_]
        return not waiting

    watch = Watch(
        far=far,
        query={"types": "task.changed"},
        look=look,
        concerns=lambda it: it.data.get("subject") in waiting,
    )
    if not await watch.until(seconds):
        raise _late(known, waiting, seconds)
    return list(known.values())


def _late(known: dict[str, Any], waiting: dict[str, Any], seconds: float) -> FarError:
    id_ = next(iter(waiting))
    phase = shapes.read(known[id_], shapes.Task).phase
    what = "the task is" if len(known) == 1 else f"{len(waiting)} of {len(known)} tasks are"
    remedy = f"It goes on: gitops task get {id_}"
    return FarError(f"{what} still {phase} after {seconds:g} s. {remedy}", Exit.TIMEOUT)
