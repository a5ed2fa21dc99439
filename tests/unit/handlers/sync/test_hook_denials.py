"""Hooks are cleaned up only where the project, as it is now, and the owner's policy permit it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from handlers.application.application import AppProject
from handlers.application.spec import Operation
from handlers.control_plane.governance import FROM_CONTROL_PLANE
from handlers.sync.move import CleanHooks
from handlers.sync.operation_planner import OperationPlanner
from handlers.sync.operation_transitions import begun
from handlers.sync.step_run import StepRun
from tests.unit.handlers.application.builders import application, project
from tests.unit.handlers.control_plane.builders import KnownApps, governance, served
from tests.unit.handlers.one_cluster import cluster_of_kinds
from tests.unit.handlers.sync.builders import REVISION, comparison, key, live, manifest

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
    state = begun(APP, operation, REVISION, NOW)
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
