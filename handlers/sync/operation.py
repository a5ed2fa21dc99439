"""The operation as a pure state machine: `next_move(state, view)` says what to do next.

The whole state is `Application.status.operationState`; nothing is remembered elsewhere. So a killed
agent goes on from the last written state, and does again what it had not written: harmless, because
an object that is as desired is not sent again. The machine never waits and never acts: the step
handler carries out the move, and asks again when something has changed.

    state                                              move
    phase is Succeeded, Failed or Error                Done
    phase is Terminating                               CleanHooks, then Finish(Failed)
    Running with finishedAt: a try failed              RetryDelay until its retry, then Restart
    a hook has ended, and its finalizer still holds it CleanHooks
    an object was refused before anything was sent     Finish(Failed, final)
    a step has prunes that nobody has approved yet     Wait
    a hook is due, and its last run is still there     CleanHooks, then Wait until it is gone
    a step has objects without a result                Act on them
    a step has a hook that runs                        Wait
    a step has a failed object                         Act on the hooks of SyncFail, Wait for them,
                                                       Finish(Failed): retried where the policy says
    a step but the last waits for health or deletion   Wait
    every step is done                                 Finish(Succeeded)
    it would act or try again, and may not now         Wait; hooks of SyncFail run all the same

A step is entered only when all before it are done: everything tried, nothing failed, all healthy.
The last step is done when it is applied and its hooks have ended; its health is the application's,
not the operation's. (As in Argo CD its health counts where it has hooks and is not the only step.)
Before an operation ends, the hooks are deleted whose policy asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from bus.status import OperationPhase, ResultStatus
from handlers.application.policy import RetryPolicy, retry_policy
from handlers.application.status import OperationState, ResourceResult, SyncResult
from handlers.application.times import read
from handlers.manifest.hooks import HookDeletePolicy
from handlers.sync.failure_reason import reason_of
from handlers.sync.live_hooks import LeftOver
from handlers.sync.move import (
    Act,
    CleanHooks,
    Done,
    Finish,
    Move,
    OperationView,
    Restart,
    RetryDelay,
    Wait,
)
from handlers.sync.operation_results import (
    READY,
    ProgressState,
    Results,
    failures,
    id_of,
    in_words,
    result,
    running_hooks,
    title,
)
from handlers.sync.sync_plan import SyncPhase, SyncStep, SyncTask, TaskId

SUCCESS = "successfully synced (all tasks run)"
TERMINATED = "Operation terminated"
PRUNE_WAITS = "waiting for pruning confirmation of"
"""Argo CD's words, by which its tools know that an approval is asked for."""


def next_move(state: OperationState, view: OperationView) -> Move:
    move = _unblocked_move(state, view)
    return Wait(view.blocked) if view.blocked and _begins(move, view) else move


def _begins(move: Move, view: OperationView) -> bool:
    """Whether the move begins something new; what looks after a failure belongs to its end."""
    if isinstance(move, Act):
        return move.step != view.on_failure
    if isinstance(move, CleanHooks):
        return move.before_creation and not move.after_failure
    return isinstance(move, Restart)


def _unblocked_move(state: OperationState, view: OperationView) -> Move:
    phase = OperationPhase(state.phase)
    if phase.completed:
        return Done()
    if phase is OperationPhase.TERMINATING:
        return _stop(view) or Finish(OperationPhase.FAILED, TERMINATED)
    if state.finished_at:
        return _next_try(state, view.now)
    return _let_go(view) or _on_the_way(state, view)


def _let_go(view: OperationView) -> CleanHooks | None:
    ended = tuple(hook.live for hook in view.hooks if hook.held and not hook.runs)
    return CleanHooks(release=ended) if ended else None


def _on_the_way(state: OperationState, view: OperationView) -> Move:
    # The results are the memory of this try: an object with one is not touched again in it.
    results = {id_of(one): one for one in results_of(state)}
    refused = failures(results[task] for task in results.keys() - _planned(view))
    if refused:
        return _stop(view) or Finish(OperationPhase.FAILED, reason_of(refused), final=True)
    if any(task.phase == SyncPhase.SYNC_FAIL for task in results):
        return _fail(results, view)
    # The plan is made anew at each call, so steps that are done are passed over here each time.
    for step in view.steps:
        move = _in_step(step, results, view)
        if move is not None:
            return move
    return _end(view, Finish(OperationPhase.SUCCEEDED, SUCCESS), HookDeletePolicy.HOOK_SUCCEEDED)


def _planned(view: OperationView) -> frozenset[TaskId]:
    """The tasks of the plan; a failed object outside of it was refused before any was sent."""
    steps = (*view.steps, view.on_failure) if view.on_failure else view.steps
    return frozenset(task.id for step in steps for task in step.tasks)


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


Known = Mapping[TaskId, ResourceResult]


def _in_step(step: SyncStep, results: Known, view: OperationView) -> Move | None:
    """The move that the step needs; None where the step is done."""
    untried = tuple(task for task in step.tasks if task.id not in results)
    unconfirmed = [task.key for task in untried if task.unconfirmed]
    if unconfirmed:
        # The whole wave waits, as in Argo CD: what it applies may need the place of what goes.
        return Wait(f"{PRUNE_WAITS} {in_words(unconfirmed)}; {view.remedy}")
    if untried:
        return _clear_the_way(untried, view) or Act(step, untried)
    of_step = [results[task.id] for task in step.tasks]
    if failures(of_step):
        return _fail(results, view)
    if running := running_hooks(of_step):
        return _wait_for_hooks(running)
    last = step == view.steps[-1]
    only = len(view.steps) == 1 and view.on_failure is None
    if last and (only or not any(task.hook for task in step.tasks)):
        return None  # nothing comes after it, so nothing waits for its health
    return _in_health(step, results, view)


def _in_health(step: SyncStep, results: Known, view: OperationView) -> Move | None:
    tasks = {task.key: task for task in step.tasks if task.hook is None}
    of_step = {key: view.progress.get(key, READY) for key in tasks}
    for key, one in of_step.items():
        if one.state is ProgressState.FAILED:
            ill = result(tasks[key], ResultStatus.SYNCED, one.message, OperationPhase.FAILED)
            return _fail({**results, id_of(ill): ill}, view, (ill,))
    waiting = [key for key, one in of_step.items() if one.state is ProgressState.WAITING]
    if not waiting:
        return None
    # Health is what people look for first; deletions are named only where nothing else is awaited.
    pruned = {task.key for task in step.prunes}
    if pruned.issuperset(waiting):
        return Wait(f"waiting for deletion of {in_words(waiting)}")
    return Wait(f"waiting for healthy state of {in_words(set(waiting) - pruned)}")


# --- hooks ----------------------------------------------------------------------------------------


def _clear_the_way(untried: tuple[SyncTask, ...], view: OperationView) -> Move | None:
    """Delete what is left of an earlier run of these hooks, and wait until it is gone."""
    found = [view.left_over[task.id] for task in untried if task.id in view.left_over]
    release = tuple(one.live for one in found if one.held)
    delete = tuple(one.live for one in found if not one.live.deleting)
    if release or delete:
        return CleanHooks(release=release, delete=delete, before_creation=True)
    return Wait(f"waiting for deletion of hook {_first(found)}") if found else None


def _first(found: list[LeftOver]) -> str:
    return in_words(one.live.key for one in found)


def _wait_for_hooks(running: Results) -> Wait:
    more = f" and {len(running) - 1} more hooks" if len(running) > 1 else ""
    return Wait(f"waiting for completion of hook {title(running[0].key)}{more}")


def _fail(results: Known, view: OperationView, ill: Results = ()) -> Move:
    """Run the hooks of SyncFail once all hooks that run have ended, then end the operation."""
    if running := running_hooks(results.values()):
        return _wait_for_hooks(running)
    step = view.on_failure
    untried = tuple(task for task in step.tasks if task.id not in results) if step else ()
    if step and untried:
        way = _clear_the_way(untried, view)
        if isinstance(way, CleanHooks):
            return replace(way, after_failure=True)
        return way or Act(step, untried, ill)
    end = Finish(OperationPhase.FAILED, reason_of(failures(results.values())))
    return _end(view, end, HookDeletePolicy.HOOK_FAILED)


def _end(view: OperationView, end: Finish, policy: HookDeletePolicy) -> Move:
    """Delete the hooks whose policy asks for it, then end; nothing waits for their deletion."""
    hooks = [one.live for one in view.hooks if policy in one.policies]
    delete = tuple(live for live in hooks if not live.deleting)
    return CleanHooks(delete=delete) if delete else end


def _stop(view: OperationView) -> CleanHooks | None:
    """Let every hook go; delete those that run, and those that are deleted on failure."""
    stopped = tuple(
        replace(one.result, hook_phase=OperationPhase.FAILED, message="Terminated")
        for one in view.hooks
        if one.runs
    )
    failed = HookDeletePolicy.HOOK_FAILED
    going = [one.live for one in view.hooks if one.runs or failed in one.policies]
    release = tuple(one.live for one in view.hooks if one.held)
    delete = tuple(live for live in going if not live.deleting)
    if not (release or delete or stopped):
        return None
    return CleanHooks(release=release, delete=delete, results=stopped)


def sync_result(state: OperationState) -> SyncResult:
    return state.sync_result or SyncResult()
