"""How an object stands after it was applied or pruned, that is: whether the next wave may come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from bus.identity import ResourceKey
from bus.status import HealthStatus
from handlers.manifest.kinds import KindInfo, defined_by
from handlers.ports import LiveObject
from handlers.sync.plan import Action, Step, Task
from handlers.sync.results import READY, Stand, Standing

Get = Callable[[ResourceKey], LiveObject | None]
Lookup = Callable[[str, str], KindInfo | None]


def standings(steps: Iterable[Step], get: Get, kind: Lookup) -> Mapping[ResourceKey, Standing]:
    return {task.key: standing(task, get(task.key), kind) for step in steps for task in step.tasks}


def standing(task: Task, live: LiveObject | None, kind: Lookup) -> Standing:
    if task.action is Action.PRUNE:
        return READY if live is None else Standing(Stand.WAITING)
    if live is None:
        return Standing(Stand.FAILED, "it is not in the cluster any more")
    if live.health in (None, HealthStatus.HEALTHY):
        return _served(task, kind)
    if live.health is HealthStatus.DEGRADED:
        return Standing(Stand.FAILED, live.health_message or "it is degraded")
    return Standing(Stand.WAITING, live.health_message)


def _served(task: Task, kind: Lookup) -> Standing:
    """A definition is ready when discovery names what it defines."""
    defined = defined_by(task.manifest)
    if all(kind(one.group, one.kind) for one in defined):
        return READY
    return Standing(Stand.WAITING, "it is not established yet")


def defines(task: Task) -> bool:
    return bool(defined_by(task.manifest))
