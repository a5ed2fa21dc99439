"""What of a status is stored where the whole of it has no room."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from bus.status import HealthStatus, OperationPhase, ResultStatus, SyncStatus
from handlers.application.status import (
    ApplicationStatus,
    HealthState,
    OperationState,
    ResourceResult,
    ResourceStatus,
    SyncResult,
)
from handlers.application.status_size import (
    MOST_BYTES_OF_RESOURCES,
    MOST_BYTES_OF_RESULTS,
    fitting,
    fitting_results,
)

MANY = 20_000


def resource(number: int, **parts: object) -> ResourceStatus:
    found = ResourceStatus(
        kind="ConfigMap", namespace="shop", name=f"{number:05}", status=SyncStatus.SYNCED
    )
    return replace(found, **parts)


def results(count: int, message: str = "created") -> tuple[ResourceResult, ...]:
    return tuple(
        ResourceResult(
            kind="ConfigMap", name=f"{number:05}", status=ResultStatus.SYNCED, message=message
        )
        for number in range(count)
    )


def operation(*found: ResourceResult) -> OperationState:
    return OperationState(
        phase=OperationPhase.RUNNING, sync_result=SyncResult(revision="a", resources=found)
    )


def kept(state: OperationState) -> tuple[ResourceResult, ...]:
    assert state.sync_result is not None
    return state.sync_result.resources


def test_what_has_room_stays_as_it_is() -> None:
    status = ApplicationStatus(
        resources=tuple(map(resource, range(1_000))), operation_state=operation(*results(1_000))
    )
    assert fitting(status) is status or fitting(status) == status


@pytest.mark.parametrize(
    "important",
    [
        {"status": SyncStatus.OUT_OF_SYNC},
        {"requires_pruning": True},
        {"hook": True, "status": ""},
        {"health": HealthState(status=HealthStatus.DEGRADED)},
        {"namespace": "other"},
        {"kind": "Secret"},
    ],
    ids=str,
)
def test_what_a_person_has_to_see_stays(important: dict[str, object]) -> None:
    last = resource(MANY, **important)
    whole = (*map(resource, range(MANY)), last)

    cut = fitting(ApplicationStatus(resources=whole))

    assert cut.resources[-1] == last
    assert cut.resources_total == MANY + 1 > len(cut.resources)
    assert len(msgspec.json.encode(cut.resources)) <= MOST_BYTES_OF_RESOURCES
    assert fitting(cut) == cut


def test_failures_and_hooks_stay_among_the_results() -> None:
    hook = ResourceResult(kind="Job", name="hook", hook_type="PreSync", hook_phase="Running")
    failed = ResourceResult(kind="ConfigMap", name="bad", status=ResultStatus.SYNC_FAILED)
    state = operation(*results(MANY), hook, failed)

    cut = fitting_results(state)

    assert kept(cut)[-2:] == (hook, failed)
    assert cut.sync_result is not None
    assert cut.sync_result.resources_total == MANY + 2
    assert len(msgspec.json.encode(kept(cut))) <= MOST_BYTES_OF_RESULTS
    assert fitting_results(cut) == cut


def test_results_that_were_left_out_before_still_count() -> None:
    cut = fitting_results(operation(*results(MANY)))
    assert cut.sync_result is not None
    later = replace(cut, sync_result=replace(cut.sync_result, resources=kept(cut)[:10]))
    again = fitting_results(later)
    assert again.sync_result is not None
    assert again.sync_result.resources_total == MANY
