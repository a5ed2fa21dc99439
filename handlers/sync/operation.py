"""The operation as a state machine: its state and a view of the world in, the next move out.

The whole state is `Application.status.operationState`; nothing is remembered elsewhere, so a killed
agent goes on where the last written state says, and does again what it had not written: harmless,
because an object that is as wanted is not sent again. The machine never waits and never acts: it
says what to do, and is asked again when something has changed.

A step is entered only when all before it are done: everything tried, nothing failed, all healthy.
The last step is done when it is applied; its health is the application's, not the operation's.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from bus.identity import ResourceKey
from bus.status import OperationPhase
from handlers.application.policy import RetryPolicy, retry_policy
from handlers.application.status import OperationState, ResourceResult, SyncResult
from handlers.application.times import read
from handlers.sync.plan import Step, Task
from handlers.sync.results import READY, Stand, Standing, failures, in_words, key_of

SUCCESS = "successfully synced (all tasks run)"
TERMINATED = "Operation terminated"


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The world as far as the operation needs it; an object that is not in `standing` is ready."""

    steps: tuple[Step, ...]
    standing: Mapping[ResourceKey, Standing] = {}
    now: datetime


class Act(msgspec.Struct, frozen=True):
    """Apply and prune `tasks` of `step`, then ask again with a result for each of them."""

    step: Step
    tasks: tuple[Task, ...]


class Wait(msgspec.Struct, frozen=True):
    """Nothing to do until an object changes."""

    message: str


class Pause(msgspec.Struct, frozen=True):
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


Move = Act | Wait | Pause | Restart | Finish | Done


def next_move(state: OperationState, view: View) -> Move:
    phase = OperationPhase(state.phase)
    if phase.completed:
        return Done()
    if phase is OperationPhase.TERMINATING:
        return Finish(OperationPhase.FAILED, TERMINATED)
    if state.finished_at:
        return _next_try(state, view.now)
    results = {key_of(one): one for one in results_of(state)}
    refused = failures(results[key] for key in results.keys() - _planned(view.steps))
    if refused:
        return Finish(OperationPhase.FAILED, _failed(refused), final=True)
    for step in view.steps:
        move = _in_step(step, results, view)
        if move is not None:
            return move
    return Finish(OperationPhase.SUCCEEDED, SUCCESS)


def _planned(steps: tuple[Step, ...]) -> frozenset[ResourceKey]:
    """What is not planned and has failed was refused before anything was sent."""
    return frozenset(task.key for step in steps for task in step.tasks)


def results_of(state: OperationState) -> tuple[ResourceResult, ...]:
    return state.sync_result.resources if state.sync_result else ()


def retry_at(state: OperationState) -> datetime | None:
    """When the next try of a failed operation starts."""
    failed_at = read(state.finished_at)
    if failed_at is None:
        return None
    return failed_at + timedelta(seconds=policy_of(state).wait(state.retry_count))


def policy_of(state: OperationState) -> RetryPolicy:
    return retry_policy(state.operation.retry)


def _next_try(state: OperationState, now: datetime) -> Move:
    at = retry_at(state)
    left = 0.0 if at is None else (at - now).total_seconds()
    return Pause(left) if left > 0 else Restart()


def _in_step(step: Step, results: Mapping[ResourceKey, ResourceResult], view: View) -> Move | None:
    """None where the step is behind us."""
    untried = tuple(task for task in step.tasks if task.key not in results)
    if untried:
        return Act(step, untried)
    failed = failures(results[task.key] for task in step.tasks)
    if failed:
        return Finish(OperationPhase.FAILED, _failed(failed))
    if step == view.steps[-1]:
        return None
    return _in_health(step, view.standing)


def _in_health(step: Step, standing: Mapping[ResourceKey, Standing]) -> Move | None:
    stands = {task.key: standing.get(task.key, READY) for task in step.tasks}
    for key, found in stands.items():
        if found.stand is Stand.FAILED:
            message = f"wave {step.wave} did not become healthy: {key.kind} {key.name}"
            return Finish(OperationPhase.FAILED, f"{message}: {found.message}")
    waiting = [key for key, found in stands.items() if found.stand is Stand.WAITING]
    if not waiting:
        return None
    pruned = {task.key for task in step.prunes}
    if pruned.issuperset(waiting):
        return Wait(f"waiting for deletion of {in_words(waiting)}")
    return Wait(f"waiting for healthy state of {in_words(set(waiting) - pruned)}")


def _failed(failed: tuple[ResourceResult, ...]) -> str:
    first = failed[0]
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    return f"one or more objects failed to apply: {first.kind} {first.name}: {first.message}{more}"


def sync_result(state: OperationState) -> SyncResult:
    return state.sync_result or SyncResult()
