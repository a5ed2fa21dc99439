"""Results that had no room in the status are worked out again."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from bus.status import ResultStatus
from handlers.application.spec import Operation
from handlers.application.status import OperationState
from handlers.sync.left_out_results import left_out_results
from handlers.sync.operation_results import result
from handlers.sync.operation_transitions import begun, with_results
from handlers.sync.sync_plan import SyncAction, SyncTask
from tests.unit.handlers.application.builders import application
from tests.unit.handlers.sync.builders import REVISIONS, key

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def task(name: str, wave: int = 0, *, changed: bool = False) -> SyncTask:
    return SyncTask(action=SyncAction.APPLY, key=key(name), wave=wave, changed=changed)


def cut(state: OperationState) -> OperationState:
    assert state.sync_result is not None
    return replace(state, sync_result=replace(state.sync_result, resources_total=9_000))


def found(state: OperationState, *tasks: SyncTask) -> dict[str, str]:
    return {one.name: one.status for one in left_out_results(state, tasks)}


START = begun(application(), Operation(), REVISIONS, NOW)


def test_nothing_is_made_up_while_all_results_are_there() -> None:
    assert found(START, task("a")) == {}


def test_what_is_as_desired_has_been_synced_and_the_rest_is_to_be_tried() -> None:
    state = cut(with_results(START, [result(task("known"), ResultStatus.SYNCED, "created")]))
    tasks = (task("known"), task("same"), task("differs", changed=True))
    assert found(state, *tasks) == {"same": ResultStatus.SYNCED}


def test_what_differs_in_a_wave_that_failed_has_failed_too() -> None:
    bad = task("bad", wave=1, changed=True)
    state = cut(with_results(START, [result(bad, ResultStatus.SYNC_FAILED, "refused")]))
    tasks = (bad, task("also", wave=1, changed=True), task("later", wave=2, changed=True))
    assert found(state, *tasks) == {"also": ResultStatus.SYNC_FAILED}
