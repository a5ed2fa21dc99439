"""Which hooks a sync runs, under which name, and in which place of the plan."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from bus.identity import ResourceKey
from bus.status import OperationPhase, ResultStatus
from handlers.application.spec import Operation, SyncOperation, SyncResource
from handlers.application.status import OperationState
from handlers.manifest.hooks import HOOK_FINALIZER, HOOK_RUN
from handlers.manifest.tracking import TRACKING_ID
from handlers.sync.hook_tasks import hook_work
from handlers.sync.operation_transitions import begun
from handlers.sync.sync_plan import SyncAction, SyncPhase, SyncTask, failure_step, plan
from tests.unit.handlers.application.builders import application
from tests.unit.handlers.sync.builders import REVISION, REVISIONS, comparison, key, manifest

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS = int(NOW.timestamp())


def state(**sync: Any) -> OperationState:
    return begun(application(), Operation(sync=SyncOperation(**sync)), REVISIONS, NOW)


def tasks(*manifests: dict[str, Any], **sync: Any) -> tuple[SyncTask, ...]:
    return hook_work(comparison(manifests), state(**sync)).tasks


def test_a_hook_of_several_phases_is_one_task_in_each() -> None:
    found = tasks(manifest("a", hook="PreSync,PostSync,SyncFail,PostDelete"))
    phases = [SyncPhase.PRE_SYNC, SyncPhase.POST_SYNC, SyncPhase.SYNC_FAIL]
    assert [task.phase for task in found] == phases
    assert {task.key for task in found} == {key("a")}


@pytest.mark.parametrize("hook", ["Skip", "PostDelete", "Nonsense"])
def test_what_is_no_hook_of_a_sync_is_no_task(hook: str) -> None:
    assert tasks(manifest("a", hook=hook)) == ()


@pytest.mark.parametrize(
    ("sync", "runs"),
    [
        ({}, True),
        ({"sync_strategy": {"hook": {}}}, True),
        ({"sync_strategy": {"apply": {}}}, False),
        ({"resources": (SyncResource(kind="ConfigMap", name="a"),)}, False),
    ],
    ids=["whole", "strategy hook", "strategy apply", "chosen objects"],
)
def test_a_sync_runs_hooks_only_as_a_whole(sync: dict[str, Any], *, runs: bool) -> None:
    assert bool(tasks(manifest("a", hook="PreSync"), **sync)) is runs


def test_a_hook_is_held_by_a_finalizer_and_marked_for_this_try() -> None:
    begun_now = state()
    (task,) = hook_work(comparison((manifest("a", hook="PreSync"),)), begun_now).tasks
    metadata = task.manifest["metadata"]
    assert metadata["finalizers"] == [HOOK_FINALIZER]
    operation = begun_now.operation.info[-1]["value"]
    assert metadata["annotations"][HOOK_RUN] == f"{operation}/0/PreSync"


def test_a_generated_name_is_the_same_in_every_look_and_is_tracked() -> None:
    nameless = manifest("x", hook="PostSync")
    metadata = nameless["metadata"]
    del metadata["name"]
    metadata["generateName"] = "Smoke-"
    (task,) = tasks(nameless)
    name = f"smoke-{REVISION[:7]}-postsync-{SECONDS}"
    assert (task.key.name, task.manifest["metadata"]["name"]) == (name, name)
    assert "generateName" not in task.manifest["metadata"]
    assert task.manifest["metadata"]["annotations"][TRACKING_ID] == f"web:/ConfigMap:shop/{name}"


def test_a_hook_that_is_denied_is_a_failure_before_anything_is_sent() -> None:
    seen = comparison((manifest("a", hook="PreSync"),), denied={key("a"): "not permitted"})
    work = hook_work(seen, state())
    assert work.tasks == ()
    (refused,) = work.settled
    assert (refused.status, refused.hook_phase) == (
        ResultStatus.SYNC_FAILED,
        OperationPhase.FAILED,
    )


def test_the_plan_goes_through_the_phases_and_keeps_failures_apart() -> None:
    found = tasks(
        manifest("late", hook="PostSync", sync_wave="-9"),
        manifest("second", hook="PreSync", sync_wave="2"),
        manifest("first", hook="PreSync"),
        manifest("undo", hook="SyncFail", sync_wave="1"),
        manifest("tell", hook="SyncFail", sync_wave="3"),
    )
    plain = SyncTask(action=SyncAction.APPLY, key=key("plain"))
    steps = plan((*found, plain))
    assert [[task.key.name for task in step.tasks] for step in steps] == [
        ["first"],
        ["second"],
        ["plain"],
        ["late"],
    ]
    failure = failure_step(found)
    assert failure is not None
    assert [task.key.name for task in failure.tasks] == ["tell", "undo"]
    assert failure_step((plain,)) is None


def test_a_namespace_and_a_definition_come_before_the_hook_that_needs_them() -> None:
    (hook,) = tasks(manifest("a", hook="PreSync", sync_wave="-2"))
    space = SyncTask(action=SyncAction.APPLY, key=ResourceKey("", "Namespace", "", "shop"), wave=3)
    (step,) = plan((hook, space))
    assert (step.phase, step.wave) == (SyncPhase.PRE_SYNC, -2)
    assert [task.key.kind for task in step.tasks] == ["Namespace", "ConfigMap"]
