from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from bus.status import HealthStatus, ResultStatus
from handlers.application.spec import Operation, SyncOperation, SyncResource
from handlers.manifest.options import SyncOptions, parse_sync_options
from handlers.sync.observed_status import observed, progress_of
from handlers.sync.operation import Finish, OperationView, next_move
from handlers.sync.operation_results import READY, ProgressState
from handlers.sync.operation_transitions import begun, with_results
from handlers.sync.sync_plan import SyncAction, SyncPhase, plan
from handlers.sync.sync_work import namespace_task, work_of
from tests.unit.handlers.application.builders import application, project
from tests.unit.handlers.sync.builders import REVISION, comparison, key, live, manifest

A, B, C = manifest("a"), manifest("b"), manifest("c")
PLAIN = SyncOptions()
PRUNING = SyncOperation(prune=True)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_unchanged_objects_are_tasks_that_send_nothing() -> None:
    work = work_of(comparison((A, B), (live(A),)), PRUNING, PLAIN)
    assert {task.key.name: task.changed for task in work.tasks} == {"a": False, "b": True}


def test_only_out_of_sync_objects_where_that_is_asked_for() -> None:
    options = parse_sync_options(["ApplyOutOfSyncOnly=true"])
    work = work_of(comparison((A, B), (live(A),)), PRUNING, options)
    assert [task.key.name for task in work.tasks] == ["b"]


def test_only_the_chosen_objects_and_any_namespace_where_none_is_named() -> None:
    chosen = SyncOperation(resources=(SyncResource(kind="ConfigMap", name="b"),))
    work = work_of(comparison((A, B)), chosen, PLAIN)
    assert [task.key.name for task in work.tasks] == ["b"]


def test_an_extra_object_is_pruned_only_where_the_operation_prunes() -> None:
    seen = comparison((A,), (live(A), live(B)))
    assert [
        t.key.name for t in work_of(seen, PRUNING, PLAIN).tasks if t.action is SyncAction.PRUNE
    ] == ["b"]
    (kept,) = work_of(seen, SyncOperation(), PLAIN).settled
    assert (kept.name, kept.status) == ("b", ResultStatus.PRUNE_SKIPPED)


def test_an_object_that_says_so_is_never_pruned() -> None:
    seen = comparison((A,), (live(A), live(manifest("b", sync_options="Prune=false"))))
    (kept,) = work_of(seen, PRUNING, PLAIN).settled
    assert kept.message == "ignored (no prune)"


def test_what_the_project_forbids_fails_the_operation_before_anything_is_sent() -> None:
    work = work_of(comparison((A, B), denied={key("b"): "not permitted"}), PRUNING, PLAIN)
    state = with_results(begun(application(), Operation(), REVISION, NOW), work.settled)
    move = next_move(state, OperationView(steps=plan(work.tasks), now=NOW))
    assert isinstance(move, Finish)
    assert "not permitted" in move.message
    assert move.final


def test_a_missing_namespace_is_created_before_everything_once() -> None:
    options = parse_sync_options(["CreateNamespace=true"])
    (task,) = namespace_task("shop", comparison((A,)), options, exists=False)
    assert (task.phase, task.manifest["metadata"]) == (SyncPhase.PRE_SYNC, {"name": "shop"})
    assert not list(namespace_task("shop", comparison((A,)), options, exists=True))
    assert not list(namespace_task("shop", comparison((A,)), PLAIN, exists=False))


def test_how_objects_stand_after_their_step() -> None:
    tasks = {t.key.name: t for t in work_of(comparison((A,), (live(C),)), PRUNING, PLAIN).tasks}

    def state(name: str, **parts: Any) -> ProgressState:
        return progress_of(tasks[name], live(A, **parts), lambda *_: None).state

    assert state("a") is ProgressState.READY
    assert state("a", health=None) is ProgressState.READY
    assert state("a", health=HealthStatus.PROGRESSING) is ProgressState.WAITING
    assert state("a", health=HealthStatus.DEGRADED) is ProgressState.FAILED
    assert progress_of(tasks["a"], None, lambda *_: None).state is ProgressState.FAILED
    assert state("c") is ProgressState.WAITING
    assert progress_of(tasks["c"], None, lambda *_: None) == READY


def test_an_observed_status_is_written_only_when_it_says_something_new() -> None:
    seen = comparison((A, B), (live(A), live(C)))
    app = application()
    once = observed(app, project(), seen, NOW)
    again = application(status=msgspec.to_builtins(once))
    assert observed(again, project(), seen, datetime(2027, 1, 1, tzinfo=UTC)) == again.status
    states = {one.name: (one.status, one.requires_pruning) for one in once.resources}
    assert states == {"a": ("Synced", False), "b": ("OutOfSync", False), "c": ("OutOfSync", True)}
    assert (once.sync.status, once.health.status) == ("OutOfSync", "Healthy")


def test_an_object_of_two_applications_is_reported() -> None:
    status = observed(application(), project(), comparison((A,), (live(A, app="other"),)), NOW)
    assert [one.type for one in status.conditions] == ["SharedResourceWarning"]
