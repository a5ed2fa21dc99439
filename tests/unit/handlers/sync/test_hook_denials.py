"""Hooks are cleaned up only where the project, as it is now, and the owner's policy permit it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import msgspec
import pytest

from handlers.application.application import AppProject
from handlers.application.spec import Operation
from handlers.control_plane.governance import FROM_CONTROL_PLANE
from handlers.manifest import access
from handlers.manifest.hooks import HOOK_RUN, Hook, HookPhase
from handlers.ports import LiveObject
from handlers.sync.live_hooks import left_over
from handlers.sync.move import CleanHooks
from handlers.sync.operation_planner import OperationPlanner
from handlers.sync.operation_transitions import begun
from handlers.sync.step_run import StepRun
from handlers.sync.sync_plan import SyncAction, SyncPhase, SyncTask
from tests.unit.handlers.application.builders import application, project
from tests.unit.handlers.control_plane.builders import KnownApps, governance, served
from tests.unit.handlers.one_cluster import cluster_of_kinds
from tests.unit.handlers.sync.builders import REVISIONS, comparison, key, live, manifest

NOW = datetime(2026, 1, 1, tzinfo=UTC)
APP = application()
HOOK = live(manifest("pre", hook="PreSync"))
MOVE = CleanHooks(release=(HOOK,), delete=(HOOK,))


def cleaned(*projects: AppProject, operation: Operation = Operation()) -> CleanHooks:  # noqa: B008
    """What is left of the move after what is denied has been taken out of it."""
    clusters = cluster_of_kinds(served)
    planner = OperationPlanner(
        apps=cast("Any", KnownApps(projects=projects)),
        clusters=clusters,
        governance=governance(projects=projects, clusters=clusters),
        clock=cast("Any", None),
    )
    state = begun(APP, operation, REVISIONS, NOW)
    run = StepRun(app=APP, state=state, comparison=comparison(()), began=NOW)
    return MOVE.without(planner.denied(run, MOVE.touched))


def test_a_hook_is_cleaned_up_where_the_project_permits_it() -> None:
    assert cleaned(project()) == MOVE


def test_a_hook_is_not_cleaned_up_where_the_project_denies_it() -> None:
    elsewhere = project({"destinations": [{"server": "*", "namespace": "elsewhere"}]})
    assert cleaned(elsewhere) == CleanHooks()
    assert cleaned() == CleanHooks()
    assert MOVE.without({key("other")}) == MOVE


def test_an_operation_over_the_link_cleans_up_within_the_owners_policy() -> None:
    over_link = Operation(info=({"name": FROM_CONTROL_PLANE, "value": "true"},))
    assert cleaned(project(), operation=over_link) == CleanHooks()


def definition(**annotations: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "x.example.com", "annotations": annotations}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
    }


@pytest.mark.parametrize(("mark", "found"), [({}, 0), ({HOOK_RUN: "earlier/0/PreSync"}, 1)])
def test_a_definition_that_was_no_hook_stands_in_nobodys_way(
    mark: dict[str, str], found: int
) -> None:
    """Definitions carry no tracking, so the mark of an earlier run is what tells them."""
    state = begun(APP, Operation(), REVISIONS, NOW)
    task = SyncTask(
        action=SyncAction.APPLY,
        key=access.key(definition()),
        manifest=definition(),
        hook=Hook(phases=(HookPhase.PRE_SYNC,)),
        phase=SyncPhase.PRE_SYNC,
    )
    there = LiveObject(
        key=task.key,
        version="v1",
        uid="u",
        resource_version="1",
        body=msgspec.json.encode(definition(**mark)),
    )
    assert len(left_over((task,), state, {task.key: there}.get, "web")) == found
