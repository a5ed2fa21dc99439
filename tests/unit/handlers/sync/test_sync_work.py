from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from bus.status import ConditionType, HealthStatus, ResultStatus
from handlers.application.spec import Operation, SyncOperation, SyncResource
from handlers.application.status import of_type
from handlers.manifest.options import SyncOptions, parse_sync_options
from handlers.sync.move import Act, Finish, OperationView, Wait
from handlers.sync.observed_status import observed, progress_of
from handlers.sync.operation import next_move
from handlers.sync.operation_results import READY, ProgressState
from handlers.sync.operation_transitions import begun, with_results
from handlers.sync.sync_input import sync_input
from handlers.sync.sync_plan import SyncAction, plan
from handlers.sync.sync_work import options_of, work_of
from tests.unit.handlers.application.builders import application, project
from tests.unit.handlers.sync.builders import REVISIONS, comparison, key, live, manifest

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


def test_an_extra_object_whose_kind_cannot_be_seen_is_not_pruned() -> None:
    seen = comparison((A,), (live(A), live(B)), unseen={key("b"): "the kind is not watched now"})
    work = work_of(seen, PRUNING, PLAIN)

    assert not [one for one in work.tasks if one.action is SyncAction.PRUNE]
    assert [one.message for one in work.settled] == ["not pruned: the kind is not watched now"]
    assert sync_input(application(), project(), seen).extra == ()
    status = observed(application(), project(), seen, NOW)
    assert {one.type: one.message for one in status.conditions}["PruneHeldWarning"] == (
        "objects that Git no longer has are not pruned: the kind is not watched now"
    )


def test_an_object_that_says_so_is_never_pruned() -> None:
    seen = comparison((A,), (live(A), live(manifest("b", sync_options="Prune=false"))))
    (kept,) = work_of(seen, PRUNING, PLAIN).settled
    assert kept.message == "ignored (no prune)"


def test_what_the_project_forbids_fails_the_operation_before_anything_is_sent() -> None:
    work = work_of(comparison((A, B), denied={key("b"): "not permitted"}), PRUNING, PLAIN)
    state = with_results(begun(application(), Operation(), REVISIONS, NOW), work.settled)
    move = next_move(state, OperationView(steps=plan(work.tasks), now=NOW))
    assert isinstance(move, Finish)
    assert "not permitted" in move.message
    assert move.final


CONFIRM = manifest("b", sync_options="Prune=confirm")


def test_a_prune_that_wants_an_approval_holds_its_wave_until_it_is_there() -> None:
    seen = comparison((A,), (live(CONFIRM),))
    state = begun(application(), Operation(), REVISIONS, NOW)

    def move(*, approved: bool) -> object:
        work = work_of(seen, PRUNING, PLAIN, prunes_approved=approved)
        steps = plan(work.tasks)
        return next_move(state, OperationView(steps=steps, now=NOW, remedy="ask Ann"))

    waiting = move(approved=False)
    assert waiting == Wait("waiting for pruning confirmation of ConfigMap/b; ask Ann")
    act = move(approved=True)
    assert isinstance(act, Act)
    assert {one.key.name for one in act.tasks} == {"a", "b"}


def test_nothing_waits_for_an_approval_where_nothing_is_pruned_or_only_tried() -> None:
    seen = comparison((A,), (live(CONFIRM),))
    (kept,) = work_of(seen, SyncOperation(), PLAIN).settled
    assert kept.message == "ignored (requires pruning)"
    work = work_of(seen, SyncOperation(prune=True, dry_run=True), PLAIN)
    assert not any(one.unconfirmed for one in work.tasks)


def test_an_annotation_overrides_that_prunes_of_the_application_want_an_approval() -> None:
    seen = comparison((), (live(manifest("a", sync_options="Prune=true")), live(B)))
    work = work_of(seen, PRUNING, parse_sync_options(["Prune=confirm"]))
    assert {one.key.name: one.unconfirmed for one in work.tasks} == {"a": False, "b": True}


def test_an_object_of_two_applications_fails_a_sync_that_wants_none() -> None:
    options = parse_sync_options(["FailOnSharedResource=true"])
    seen = comparison((A, B), (live(A, app="other"),))
    work = work_of(seen, PRUNING, options)
    assert work.tasks == ()
    state = with_results(begun(application(), Operation(), REVISIONS, NOW), work.settled)
    move = next_move(state, OperationView(steps=plan(work.tasks), now=NOW))
    assert isinstance(move, Finish)
    assert "part of the application 'other' too" in move.message
    assert work_of(seen, PRUNING, PLAIN).settled == ()


def test_the_options_of_an_operation_count_even_where_it_has_none() -> None:
    app = application({"syncPolicy": {"syncOptions": ["PruneLast=true"]}})
    assert options_of(app).prune_last
    assert not options_of(app, SyncOperation()).prune_last
    assert options_of(app, SyncOperation(sync_options=("Replace=true",))).replace


def test_a_strategy_that_forces_is_the_option_force() -> None:
    forced = SyncOperation(sync_strategy={"apply": {"force": True}})
    assert options_of(application(), forced).force
    assert not options_of(application(), SyncOperation(sync_strategy={"hook": {}})).force


def test_everything_is_sent_while_another_manager_is_taken_over() -> None:
    notes = {"argocd.argoproj.io/client-side-apply-migration-manager": "spinnaker"}
    options = options_of(application(metadata={"annotations": notes}))
    assert options.earlier_manager == "spinnaker"
    (task,) = work_of(comparison((A,), (live(A),)), PRUNING, options).tasks
    assert task.changed


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


def test_objects_whose_deletion_wants_an_approval_are_marked() -> None:
    kept = manifest("b", sync_options="Delete=confirm")
    seen = comparison((A, kept), (live(A), live(kept), live(manifest("c"))))

    def marked(*options: str) -> set[str]:
        app = application({"syncPolicy": {"syncOptions": list(options)}})
        found = observed(app, project(), seen, NOW).resources
        return {one.name for one in found if one.requires_deletion_confirmation}

    assert marked() == {"b"}
    assert marked("Delete=confirm") == {"a", "b", "c"}


def test_an_object_of_two_applications_is_reported() -> None:
    status = observed(application(), project(), comparison((A,), (live(A, app="other"),)), NOW)
    assert [one.type for one in status.conditions] == ["SharedResourceWarning"]


def test_conditions_about_many_objects_are_bounded() -> None:
    wanted = tuple(manifest(f"{number:03}") for number in range(100))
    lives = tuple(live(one, app="other") for one in wanted)

    status = observed(application(), project(), comparison(wanted, lives), NOW)

    shared = of_type(status.conditions, ConditionType.SHARED_RESOURCE_WARNING)
    assert len(shared) == 21
    assert "and 80 more objects likewise" in {one.message for one in shared}
