"""Move: one step of an operation, and the view of the cluster on which it is decided. Values only.

`operation.next_move` decides the move, the step handler carries it out.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from datetime import datetime

import msgspec
from msgspec.structs import replace

from bus.identity import ResourceKey
from bus.status import OperationPhase
from handlers.ports import LiveObject
from handlers.sync.live_hooks import LeftOver, LiveHook
from handlers.sync.operation_results import ObjectProgress, Results
from handlers.sync.sync_plan import SyncStep, SyncTask, TaskId


class OperationView(msgspec.Struct, frozen=True, kw_only=True):
    """The plan and what became of its objects; an object that is not in `progress` is ready."""

    steps: tuple[SyncStep, ...]
    on_failure: SyncStep | None = None
    """The hooks of SyncFail."""
    hooks: tuple[LiveHook, ...] = ()
    left_over: Mapping[TaskId, LeftOver] = {}
    progress: Mapping[ResourceKey, ObjectProgress] = {}
    now: datetime
    blocked: str = ""
    """Why nothing may be applied or tried again now; empty where it may."""
    remedy: str = ""
    """How a person approves the prunes that wait for it."""

    @property
    def has_hooks(self) -> bool:
        tasks = (task for step in self.steps for task in step.tasks)
        return self.on_failure is not None or any(task.hook is not None for task in tasks)


class Act(msgspec.Struct, frozen=True):
    """Apply and prune `tasks` of `step`, then ask again with a result for each of them."""

    step: SyncStep
    tasks: tuple[SyncTask, ...]
    results: Results = ()
    """What is known of other objects by now."""


class CleanHooks(msgspec.Struct, frozen=True, kw_only=True):
    """Write `results` down, then take the finalizer off hooks, and delete hooks; then ask again."""

    release: tuple[LiveObject, ...] = ()
    delete: tuple[LiveObject, ...] = ()
    results: Results = ()
    before_creation: bool = False
    """Whether it clears the way for a hook of this operation."""
    after_failure: bool = False
    """Whether that is a hook of SyncFail."""

    @property
    def touched(self) -> tuple[LiveObject, ...]:
        return (*self.release, *self.delete)

    def without(self, keys: Container[ResourceKey]) -> CleanHooks:
        return replace(
            self,
            release=tuple(one for one in self.release if one.key not in keys),
            delete=tuple(one for one in self.delete if one.key not in keys),
        )


class Wait(msgspec.Struct, frozen=True):
    """Nothing to do until an object changes."""

    message: str


class RetryDelay(msgspec.Struct, frozen=True):
    """The next try starts in `seconds`."""

    seconds: float


class Restart(msgspec.Struct, frozen=True):
    """The next try starts now."""


class Finish(msgspec.Struct, frozen=True):
    phase: OperationPhase
    message: str
    final: bool = False
    """Another try would end the same: somebody must change something first."""


class Done(msgspec.Struct, frozen=True):
    """The operation was finished before."""


Move = Act | CleanHooks | Wait | RetryDelay | Restart | Finish | Done
