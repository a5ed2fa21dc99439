"""The operation as a pure state machine: `next_move(state, view)` says what to do next.

The whole state is `Application.status.operationState`; nothing is remembered elsewhere. So a killed
agent goes on from the last written state, and does again what it had not written: harmless, because
an object that is as desired is not sent again. The machine never waits and never acts: the step
handler carries out the move, and asks again when something has changed.

    state                                              move
    phase is Succeeded, Failed or Error                Done
    phase is Terminating                               Finish(Failed)
    Running with finishedAt: a try failed              RetryDelay until its retry, then Restart
    an object was refused before anything was sent     Finish(Failed, final)
    a step has prunes that nobody has approved yet     Wait
    a step has objects without a result                Act on them
    a step has a failed object                         Finish(Failed): retried where the policy says
    a step but the last waits for health or deletion   Wait
    every step is done                                 Finish(Succeeded)
    it would act or try again, and may not now         Wait

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
from handlers.sync.operation_results import (
    READY,
    ObjectProgress,
    ProgressState,
    failures,
    in_words,
    key_of,
)
from handlers.sync.sync_plan import SyncStep, SyncTask

SUCCESS = "successfully synced (all tasks run)"
TERMINATED = "Operation terminated"
PRUNE_WAITS = "waiting for pruning confirmation of"
"""Argo CD's words, by which its tools know that an approval is asked for."""


class OperationView(msgspec.Struct, frozen=True, kw_only=True):
    """The plan and what became of its objects; an object that is not in `progress` is ready."""

    steps: tuple[SyncStep, ...]
    progress: Mapping[ResourceKey, ObjectProgress] = {}
    now: datetime
    blocked: str = ""
    """Why nothing may be applied or tried again now; empty where it may."""
    remedy: str = ""
    """How a person approves the prunes that wait for it."""


class Act(msgspec.Struct, frozen=True):
    """Apply and prune `tasks` of `step`, then ask again with a result for each of them."""

    step: SyncStep
    tasks: tuple[SyncTask, ...]


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


Move = Act | Wait | RetryDelay | Restart | Finish | Done


def next_move(state: OperationState, view: OperationView) -> Move:
    move = _unblocked_move(state, view)
    return Wait(view.blocked) if view.blocked and isinstance(move, Act | Restart) else move


def _unblocked_move(state: OperationState, view: OperationView) -> Move:
    phase = OperationPhase(state.phase)
    if phase.completed:
        return Done()
    if phase is OperationPhase.TERMINATING:
        return Finish(OperationPhase.FAILED, TERMINATED)
    if state.finished_at:
        return _next_try(state, view.now)
    # The results are the memory of this try: an object with one is not touched again in it.
    results = {key_of(one): one for one in results_of(state)}
    refused = failures(results[key] for key in results.keys() - _planned(view.steps))
    if refused:
        return Finish(OperationPhase.FAILED, _failed(refused), final=True)
    # The plan is made anew at each call, so steps that are done are passed over here each time.
    for step in view.steps:
        move = _in_step(step, results, view)
        if move is not None:
            return move
    return Finish(OperationPhase.SUCCEEDED, SUCCESS)


def _planned(steps: tuple[SyncStep, ...]) -> frozenset[ResourceKey]:
    """The objects of the plan; a failed object outside of it was refused before any was sent."""
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
    return RetryDelay(left) if left > 0 else Restart()


def _in_step(
    step: SyncStep, results: Mapping[ResourceKey, ResourceResult], view: OperationView
) -> Move | None:
    """The move that the step needs; None where the step is done."""
    untried = tuple(task for task in step.tasks if task.key not in results)
    unconfirmed = [task.key for task in untried if task.unconfirmed]
    if unconfirmed:
        # The whole wave waits, as in Argo CD: what it applies may need the place of what goes.
        return Wait(f"{PRUNE_WAITS} {in_words(unconfirmed)}; {view.remedy}")
    if untried:
        return Act(step, untried)
    failed = failures(results[task.key] for task in step.tasks)
    if failed:
        return Finish(OperationPhase.FAILED, _failed(failed))
    if step == view.steps[-1]:
        return None  # nothing comes after it, so nothing waits for its health
    return _in_health(step, view.progress)


def _in_health(step: SyncStep, progress: Mapping[ResourceKey, ObjectProgress]) -> Move | None:
    of_step = {task.key: progress.get(task.key, READY) for task in step.tasks}
    for key, one in of_step.items():
        if one.state is ProgressState.FAILED:
            message = f"wave {step.wave} did not become healthy: {key.kind} {key.name}"
            return Finish(OperationPhase.FAILED, f"{message}: {one.message}")
    waiting = [key for key, one in of_step.items() if one.state is ProgressState.WAITING]
    if not waiting:
        return None
    # Health is what people look for first; deletions are named only where nothing else is awaited.
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
