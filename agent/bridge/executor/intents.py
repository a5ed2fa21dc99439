"""What a sync would do with each object: asked of the very function that a sync asks. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from agent.bridge.executor.arguments import Preview
from bus.identity import ResourceKey
from bus.status import ResultStatus
from handlers.application.application import Application
from handlers.application.spec import SyncOperation, SyncResource
from handlers.compare.world import World
from handlers.sync.plan import Action, Task
from handlers.sync.results import key_of
from handlers.sync.tasks import namespace_task, options_of, work_of


class Intended(StrEnum):
    CREATE = "create"
    CHANGE = "change"
    PRUNE = "prune"
    SKIP = "skip"
    REFUSE = "refuse"
    """The project does not permit it: the whole sync would fail."""


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """`note` says why something would not be touched."""

    key: str
    action: Intended
    note: str = ""


def intents(
    app: Application, world: World, said: Preview, *, has_namespace: bool
) -> tuple[Intent, ...]:
    """Of every object that a sync would change, and of those that it leaves alone and says so."""
    sync = SyncOperation(prune=said.prune, resources=_named(said), sync_options=said.options)
    options = options_of(app, sync)
    work = work_of(world, sync, options)
    space = app.spec.destination.namespace
    extra = tuple(namespace_task(space, world, options, exists=has_namespace))
    missing = {one.key for one in world.pairs if one.live is None} | {one.key for one in extra}
    found = [*_of_tasks((*extra, *work.tasks), missing)]
    for one in work.settled:
        action = Intended.REFUSE if one.status == ResultStatus.SYNC_FAILED else Intended.SKIP
        found.append(Intent(key=str(key_of(one)), action=action, note=one.message))
    return tuple(found)


def _of_tasks(tasks: tuple[Task, ...], missing: set[ResourceKey]) -> Iterator[Intent]:
    for task in tasks:
        if task.action is Action.PRUNE and task.changed:
            yield Intent(key=str(task.key), action=Intended.PRUNE)
        elif task.changed:
            action = Intended.CREATE if task.key in missing else Intended.CHANGE
            yield Intent(key=str(task.key), action=action)


def _named(said: Preview) -> tuple[SyncResource, ...]:
    return tuple(
        SyncResource(group=it.group, kind=it.kind, namespace=it.namespace, name=it.name)
        for it in said.resources
    )
