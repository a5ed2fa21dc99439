"""A deletion waits for kinds that it cannot see."""

from __future__ import annotations

from bus.identity import ResourceKey
from handlers.application.status import (
    ApplicationStatus,
    OperationState,
    ResourceResult,
    ResourceStatus,
    SyncResult,
)
from handlers.delete.deployed_objects import GAP, gap_message, recorded_keys
from tests.unit.handlers.application.builders import application

MAP = ResourceKey("", "ConfigMap", "shop", "a")
HOOK = ResourceKey("batch", "Job", "shop", "b")
FINALIZER = "resources-finalizer.argocd.argoproj.io"


def deployed() -> ApplicationStatus:
    synced = ResourceResult(group="batch", kind="Job", namespace="shop", name="b")
    return ApplicationStatus(
        resources=(ResourceStatus(kind="ConfigMap", namespace="shop", name="a"),),
        operation_state=OperationState(sync_result=SyncResult(resources=(synced,))),
    )


def test_what_was_compared_and_what_was_synced_is_on_record() -> None:
    assert recorded_keys(application(status=deployed())) == {MAP, HOOK}
    assert recorded_keys(application()) == frozenset()


def test_the_first_kind_that_cannot_be_seen_is_named_with_both_remedies() -> None:
    app = application(status=deployed())

    assert gap_message(app, lambda _: "", FINALIZER) == ""
    found = gap_message(app, lambda key: f"{key.kind} away, repair it", FINALIZER)
    assert found.startswith(f"{GAP}ConfigMap away, repair it (and 1 more); ")
    assert FINALIZER in found
