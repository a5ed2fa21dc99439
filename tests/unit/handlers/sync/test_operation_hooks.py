"""The operation with hooks: what runs, what waits, and what becomes of hooks at every end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from bus.identity import ResourceKey
from bus.status import HealthStatus, OperationPhase, ResultStatus
from handlers.application.spec import Operation, SyncOperation
from handlers.application.status import OperationState
from handlers.manifest.hooks import HOOK_FINALIZER, HOOK_RUN
from handlers.ports import LiveObject
from handlers.sync.hook_tasks import hook_work
from handlers.sync.live_hooks import judged, left_over, live_hooks
from handlers.sync.move import Act, CleanHooks, Finish, Move, OperationView, Wait
from handlers.sync.operation import TERMINATED, next_move
from handlers.sync.operation_results import ObjectProgress, ProgressState, result
from handlers.sync.operation_transitions import begun, finished, not_cleaned, with_results
from handlers.sync.sync_plan import SyncAction, SyncTask, failure_step, plan
from tests.unit.handlers.application.builders import application
from tests.unit.handlers.sync.builders import REVISIONS, comparison, key, live, manifest

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLAIN = SyncTask(action=SyncAction.APPLY, key=key("plain"))
PRE = manifest("pre", hook="PreSync")
UNDO = manifest("undo", hook="SyncFail")


class Simulation:
    """An operation, its plan, and a cluster that is a mapping of names to live objects."""

    def __init__(self, *hooks: dict[str, Any], plain: tuple[SyncTask, ...] = (PLAIN,)) -> None:
        self.state: OperationState = begun(application(), Operation(), REVISIONS, NOW)
        self.hooks, self.plain = comparison(hooks), plain
        self.cluster: dict[ResourceKey, LiveObject] = {}
        self.progress: Mapping[ResourceKey, ObjectProgress] = {}
        self.blocked = ""

    def move(self) -> Move:
        """Look at the cluster as the planner does."""
        get = self.cluster.get
        self.state = with_results(self.state, judged(self.state, get, "web"))
        tasks = (*self.plain, *hook_work(self.hooks, self.state).tasks)
        view = OperationView(
            steps=plan(tasks),
            on_failure=failure_step(tasks),
            hooks=live_hooks(self.state, get, "web"),
            left_over=left_over(tasks, self.state, get, "web"),
            progress=self.progress,
            now=NOW,
            blocked=self.blocked,
        )
        return next_move(self.state, view)

    def apply(self, *, health: HealthStatus | None = HealthStatus.PROGRESSING) -> list[str]:
        """Carry out the Act that is due; hooks are in the cluster then, with this health."""
        act = self.move()
        assert isinstance(act, Act), act
        for task in act.tasks:
            if task.hook is not None:
                self.cluster[task.key] = live(task.manifest, health=health)
        results = [result(task, ResultStatus.SYNCED, "created") for task in act.tasks]
        self.state = with_results(self.state, (*act.results, *results))
        return [task.key.name for task in act.tasks]

    def end(self, name: str, health: HealthStatus, message: str = "") -> None:
        before = self.cluster[key(name)]
        self.cluster[key(name)] = replace(before, health=health, health_message=message)

    def clean(self) -> tuple[list[str], list[str]]:
        """Carry out the CleanHooks that is due; return the names that were released and deleted."""
        move = self.move()
        assert isinstance(move, CleanHooks), move
        self.state = with_results(self.state, move.results)
        for one in move.release:
            self.cluster[one.key] = released(one)
        for one in move.delete:
            del self.cluster[one.key]
        return [one.key.name for one in move.release], [one.key.name for one in move.delete]

    def phases(self) -> dict[str, str]:
        known = self.state.sync_result.resources if self.state.sync_result else ()
        return {one.name: one.hook_phase for one in known if one.hook_type}


def released(one: LiveObject) -> LiveObject:
    written = one.manifest
    written["metadata"]["finalizers"] = []
    return replace(one, body=msgspec.json.encode(written))


def test_objects_wait_for_a_hook_and_its_finalizer_goes_at_its_end() -> None:
    run = Simulation(PRE)
    assert run.apply() == ["pre"]
    assert run.move() == Wait("waiting for completion of hook ConfigMap/pre")
    run.end("pre", HealthStatus.HEALTHY, "it is done")
    assert run.clean() == (["pre"], [])
    assert run.phases() == {"pre": "Succeeded"}
    assert run.apply() == ["plain"]
    assert isinstance(end := run.move(), Finish)
    assert end.phase is OperationPhase.SUCCEEDED
    assert "pre" in {one.key.name for one in run.cluster.values()}


@pytest.mark.parametrize(
    ("health", "phase"),
    [
        (None, "Succeeded"),
        (HealthStatus.HEALTHY, "Succeeded"),
        (HealthStatus.MISSING, "Succeeded"),
        (HealthStatus.PROGRESSING, "Running"),
        (HealthStatus.SUSPENDED, "Running"),
        (HealthStatus.DEGRADED, "Failed"),
        (HealthStatus.UNKNOWN, "Failed"),
    ],
)
def test_the_health_of_a_hook_says_how_it_goes(health: HealthStatus | None, phase: str) -> None:
    run = Simulation(PRE)
    run.apply(health=health)
    run.move()
    assert run.phases() == {"pre": phase}


def test_several_hooks_of_a_wave_are_all_awaited() -> None:
    run = Simulation(PRE, manifest("also", hook="PreSync"))
    run.apply()
    assert run.move() == Wait("waiting for completion of hook ConfigMap/also and 1 more hooks")
    run.end("also", HealthStatus.DEGRADED, "no")
    assert run.clean() == (["also"], [])
    assert run.move() == Wait("waiting for completion of hook ConfigMap/pre")
    run.end("pre", HealthStatus.HEALTHY)
    run.clean()
    assert isinstance(end := run.move(), Finish)
    assert end.message.endswith("completed unsuccessfully: PreSync hook ConfigMap also: no")


def test_a_hook_that_vanished_is_an_error() -> None:
    run = Simulation(PRE)
    run.apply()
    run.cluster.clear()
    assert isinstance(end := run.move(), Finish)
    assert "pre is missing, it might have been deleted" in end.message
    assert run.phases() == {"pre": "Error"}


def test_an_object_that_took_the_name_of_a_hook_does_not_end_it() -> None:
    run = Simulation(PRE)
    run.apply()
    other = manifest("pre")
    other["metadata"]["annotations"][HOOK_RUN] = "another/0/PreSync"
    run.cluster[key("pre")] = live(other)
    run.move()
    assert run.phases() == {"pre": "Error"}


def earlier(name: str, **parts: Any) -> LiveObject:
    """A hook of an operation before this one, which the agent left with its finalizer."""
    written = manifest(name, hook="PreSync")
    written["metadata"]["annotations"][HOOK_RUN] = "earlier/0/PreSync"
    written["metadata"]["finalizers"] = [HOOK_FINALIZER]
    return live(written, **parts)


def test_a_hook_of_an_earlier_sync_is_gone_before_the_next_one_is_created() -> None:
    run = Simulation(PRE)
    run.cluster[key("pre")] = earlier("pre")
    move = run.move()
    assert isinstance(move, CleanHooks)
    assert move.before_creation
    gone = released(replace(earlier("pre"), deleting=True))
    run.cluster[key("pre")] = gone
    assert run.move() == Wait("waiting for deletion of hook ConfigMap/pre")
    run.cluster.clear()
    assert run.apply() == ["pre"]


def test_a_hook_that_is_not_deleted_before_creation_is_applied_again() -> None:
    run = Simulation(manifest("pre", hook="PreSync", hook_delete_policy="HookFailed"))
    run.cluster[key("pre")] = earlier("pre")
    assert isinstance(run.move(), Act)
    run.cluster[key("pre")] = earlier("pre", deleting=True)
    assert run.clean() == (["pre"], [])


def test_an_object_of_another_application_is_not_deleted_for_a_hook() -> None:
    run = Simulation(PRE)
    run.cluster[key("pre")] = live(manifest("pre"), app="other")
    assert isinstance(run.move(), Act)


def test_a_hook_of_this_try_is_no_leftover_although_its_result_was_lost() -> None:
    run = Simulation(PRE)
    fresh = run.state
    run.apply()
    run.state = fresh
    assert isinstance(run.move(), Act)


def test_a_retry_replaces_the_hooks_of_the_try_before() -> None:
    run = Simulation(PRE)
    run.apply()
    run.state = replace(
        run.state,
        retry_count=1,
        sync_result=replace(run.state.sync_result, resources=()),  # type: ignore[type-var]
    )
    assert run.clean() == (["pre"], ["pre"])


def test_a_failure_runs_the_hooks_for_it_and_then_ends() -> None:
    run = Simulation(PRE, UNDO, manifest("tell", hook="SyncFail", sync_wave="5"))
    run.apply()
    run.end("pre", HealthStatus.DEGRADED, "out of order")
    run.clean()
    assert run.apply() == ["tell", "undo"]
    assert isinstance(run.move(), Wait)
    run.end("tell", HealthStatus.HEALTHY)
    run.end("undo", HealthStatus.DEGRADED, "neither")
    run.clean()
    assert isinstance(end := run.move(), Finish)
    assert "PreSync hook ConfigMap pre: out of order" in end.message
    assert "one or more SyncFail hooks failed: SyncFail hook ConfigMap undo: neither" in end.message


def test_a_closed_window_does_not_hold_up_the_hooks_of_a_failure() -> None:
    run = Simulation(PRE, UNDO)
    run.apply()
    run.cluster[key("undo")] = earlier("undo")
    run.end("pre", HealthStatus.DEGRADED, "out of order")
    run.blocked = "a window is closed"
    run.clean()
    assert run.clean() == (["undo"], ["undo"])
    assert run.apply() == ["undo"]


def test_a_closed_window_holds_up_a_hook_and_what_stands_in_its_way() -> None:
    run = Simulation(PRE)
    run.blocked = "a window is closed"
    assert run.move() == Wait("a window is closed")
    run.cluster[key("pre")] = earlier("pre")
    assert run.move() == Wait("a window is closed")


def test_what_did_not_become_healthy_is_remembered_while_the_hooks_for_it_run() -> None:
    later = replace(PLAIN, key=key("later"), wave=1)
    run = Simulation(UNDO, plain=(PLAIN, later))
    run.apply()
    run.progress = {PLAIN.key: ObjectProgress(ProgressState.FAILED, "crashes")}
    assert run.apply() == ["undo"]
    run.progress = {}
    run.end("undo", HealthStatus.HEALTHY)
    run.clean()
    assert isinstance(end := run.move(), Finish)
    assert (end.phase, "plain: crashes" in end.message) == (OperationPhase.FAILED, True)


def test_hooks_are_deleted_at_the_end_that_their_policies_name() -> None:
    names = {"HookSucceeded": "s", "HookFailed": "f", "HookSucceeded,HookFailed": "b"}
    hooks = [manifest(one, hook="PreSync", hook_delete_policy=it) for it, one in names.items()]
    good, bad = Simulation(*hooks, plain=()), Simulation(*hooks, plain=())
    for run, health in ((good, HealthStatus.HEALTHY), (bad, HealthStatus.DEGRADED)):
        run.apply(health=HealthStatus.HEALTHY)
        run.end("f", health)
        run.clean()
    assert good.clean() == ([], ["b", "s"])
    assert bad.clean() == ([], ["b", "f"])
    assert isinstance(good.move(), Finish)
    assert isinstance(bad.move(), Finish)


def test_after_the_last_wave_only_hooks_are_awaited_unless_it_is_one_of_several() -> None:
    waiting = {PLAIN.key: ObjectProgress(ProgressState.WAITING)}
    middle = manifest("middle", hook="Sync")
    only, several = Simulation(middle), Simulation(middle, PRE)
    for run in (only, several):
        run.progress = waiting
        while isinstance(run.move(), Act):
            run.apply(health=HealthStatus.HEALTHY)
            run.clean()
    assert isinstance(only.move(), Finish)
    assert several.move() == Wait("waiting for healthy state of ConfigMap/plain")


def test_terminating_lets_hooks_go_and_deletes_what_runs() -> None:
    kept = manifest("done", hook="PreSync")
    run = Simulation(PRE, kept, manifest("f", hook="PreSync", hook_delete_policy="HookFailed"))
    run.apply()
    run.end("done", HealthStatus.HEALTHY)
    run.end("f", HealthStatus.HEALTHY)
    run.state = replace(run.state, phase=OperationPhase.TERMINATING)
    assert run.clean() == (["done", "f", "pre"], ["f", "pre"])
    assert run.phases() == {"done": "Succeeded", "f": "Succeeded", "pre": "Failed"}
    assert run.move() == Finish(OperationPhase.FAILED, TERMINATED)


def test_a_termination_whose_hooks_may_not_be_touched_says_so() -> None:
    state = replace(begun(application(), Operation(), REVISIONS, NOW), phase="Terminating")
    end = finished(state, not_cleaned(state, "forbidden"), NOW)
    assert (end.phase, end.message) == ("Error", "Operation termination had errors: forbidden")


def foreign(app: str) -> LiveObject:
    """A hook of `app` that Argo CD has applied: it has no mark of a try."""
    written = manifest("pre", hook="PreSync", hook_delete_policy="HookFailed")
    written["metadata"]["finalizers"] = [HOOK_FINALIZER]
    return live(written, app=app)


def test_a_hook_that_is_denied_touches_nothing_of_its_name() -> None:
    run = Simulation(PRE)
    run.hooks = comparison((PRE,), denied={key("pre"): "not permitted"})
    for app in ("other", "web"):
        run.cluster[key("pre")] = foreign(app)
        run.state = with_results(run.state, hook_work(run.hooks, run.state).settled)
        assert run.phases() == {"pre": "Failed"}
        assert isinstance(end := run.move(), Finish), end
        assert end.final


def with_forged_hook(run: Simulation, name: str) -> None:
    """Write a status as who may write the Application can: it ends, and this is its hook."""
    task = hook_work(comparison((manifest(name, hook="PreSync"),)), run.state).tasks[0]
    forged = with_results(run.state, [result(task, ResultStatus.SYNCED, "created")])
    run.state = replace(forged, phase=OperationPhase.TERMINATING)


@pytest.mark.parametrize("has_operation_id", [True, False])
def test_a_forged_result_makes_no_object_of_another_application_a_hook(
    *, has_operation_id: bool
) -> None:
    run = Simulation()
    if not has_operation_id:
        run.state = replace(run.state, operation=Operation(sync=SyncOperation()))
    with_forged_hook(run, "pre")
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    body = msgspec.json.encode({**manifest("pre"), **definition})
    for one in (foreign("other"), replace(foreign(""), body=body, tracking="")):
        run.cluster[key("pre")] = one
        assert run.move() == Finish(OperationPhase.FAILED, TERMINATED)


def test_a_mark_that_was_copied_makes_no_object_of_another_application_a_hook() -> None:
    run = Simulation(PRE)
    run.apply()
    run.cluster[key("pre")] = live(run.cluster[key("pre")].manifest, app="other")
    run.move()
    assert run.phases() == {"pre": "Error"}


def test_a_hook_that_argo_cd_applied_is_let_go_by_the_operation_that_argo_cd_began() -> None:
    run = Simulation()
    with_forged_hook(run, "pre")
    run.cluster[key("pre")] = foreign("web")
    assert run.move() == Finish(OperationPhase.FAILED, TERMINATED)
    run = Simulation()
    run.state = replace(run.state, operation=Operation(sync=SyncOperation()))
    with_forged_hook(run, "pre")
    run.cluster[key("pre")] = foreign("web")
    assert run.clean() == (["pre"], ["pre"])
