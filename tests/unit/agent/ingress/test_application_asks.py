"""What a change of an Application asks for."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agent.ingress.watch_asks import asks_for_app, asks_for_project, deletion_fact, is_sharing
from bus.events import AppDeleted, DeleteApp, Event, RefreshApp, StepOperation
from bus.identity import AppKey
from bus.status import ConditionType
from handlers.application.application import (
    REFRESH_ANNOTATION,
    Application,
    AppProject,
    AppProjectSpec,
    Metadata,
)
from handlers.application.deletion_approval import DELETION_APPROVED
from handlers.application.spec import ApplicationSpec, Operation, Source, SyncOperation
from handlers.application.status import ApplicationStatus, Condition, OperationState, SyncState
from handlers.application.unknown_field import UnknownField
from handlers.control_plane.governance import GOVERNED

KEY = AppKey("argocd", "shop")
APP = Application(
    metadata=Metadata(name="shop", namespace="argocd", generation=1),
    spec=ApplicationSpec(source=Source(repo_url="https://git.example/shop")),
)
REFRESH = RefreshApp(app=KEY)
STEP = StepOperation(app=KEY)


def annotated(value: str) -> Application:
    return replace(APP, metadata=replace(APP.metadata, annotations={REFRESH_ANNOTATION: value}))


def operating(phase: str) -> Application:
    return replace(APP, status=ApplicationStatus(operation_state=OperationState(phase=phase)))


def deleting(*finalizers: str) -> Application:
    metadata = replace(
        APP.metadata, deletion_timestamp="2026-01-01T00:00:00Z", finalizers=finalizers
    )
    return replace(APP, metadata=metadata)


def marked(name: str) -> Application:
    return replace(APP, metadata=replace(APP.metadata, annotations={name: "true"}))


def approved(app: Application) -> Application:
    notes = {DELETION_APPROVED: "2026-03-01T10:00:00Z"}
    return replace(app, metadata=replace(app.metadata, annotations=notes))


PAUSED = "argocd.argoproj.io/skip-reconcile"
OTHER_SPEC = replace(APP, spec=replace(APP.spec, project="web"))
SYNC = replace(APP, operation=Operation(sync=SyncOperation(revision="a" * 40)))
OTHER_SYNC = replace(APP, operation=Operation(sync=SyncOperation(revision="b" * 40)))


@pytest.mark.parametrize(
    ("before", "after", "asks"),
    [
        pytest.param(None, APP, (REFRESH,), id="new"),
        pytest.param(None, SYNC, (REFRESH, STEP), id="new with an operation"),
        pytest.param(None, operating("Running"), (REFRESH, STEP), id="an operation to take up"),
        pytest.param(None, operating("Succeeded"), (REFRESH,), id="a finished operation"),
        pytest.param(None, deleting("f"), (DeleteApp(app=KEY),), id="seen first while deleting"),
        pytest.param(APP, OTHER_SPEC, (REFRESH,), id="spec changed"),
        pytest.param(APP, annotated("normal"), (REFRESH,), id="refresh"),
        pytest.param(APP, annotated("hard"), (RefreshApp(app=KEY, hard=True),), id="hard refresh"),
        pytest.param(
            annotated("normal"), annotated("hard"), (RefreshApp(app=KEY, hard=True),), id="harder"
        ),
        pytest.param(APP, marked(PAUSED), (REFRESH,), id="paused"),
        pytest.param(marked(PAUSED), APP, (REFRESH,), id="goes on"),
        pytest.param(marked(GOVERNED), APP, (REFRESH,), id="governed no more"),
        pytest.param(APP, marked("example.com/note"), (), id="a note of a tool"),
        pytest.param(APP, SYNC, (STEP,), id="operation set"),
        pytest.param(SYNC, OTHER_SYNC, (STEP,), id="operation replaced"),
        pytest.param(operating("Running"), operating("Terminating"), (STEP,), id="terminated"),
        pytest.param(APP, deleting("f"), (DeleteApp(app=KEY),), id="deletion begins"),
        pytest.param(deleting("f"), deleting(), (DeleteApp(app=KEY),), id="finalizer removed"),
        pytest.param(
            deleting("f"), approved(deleting("f")), (DeleteApp(app=KEY),), id="deletion approved"
        ),
        pytest.param(
            operating("Running"), approved(operating("Running")), (STEP,), id="prune approved"
        ),
        pytest.param(operating("Succeeded"), approved(operating("Succeeded")), (), id="too late"),
        pytest.param(approved(operating("Running")), operating("Running"), (), id="withdrawn"),
    ],
)
def test_a_change_asks_for(
    before: Application | None, after: Application, asks: tuple[Event, ...]
) -> None:
    assert asks_for_app(before, after) == asks


def rewritten() -> Application:
    status = ApplicationStatus(sync=SyncState(status="Synced"))
    return replace(APP, status=status, metadata=replace(APP.metadata, generation=2))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(APP, rewritten(), id="status, and the generation with it"),
        pytest.param(annotated("hard"), rewritten(), id="annotation removed"),
        pytest.param(annotated("hard"), annotated("hard"), id="annotation still there"),
        pytest.param(SYNC, operating("Running"), id="operation taken up"),
        pytest.param(operating("Running"), operating("Succeeded"), id="operation finished"),
        pytest.param(deleting("f"), deleting("f"), id="still deleting"),
        pytest.param(deleting("f"), None, id="gone"),
        pytest.param(APP, APP, id="nothing"),
    ],
)
def test_a_write_of_ours_asks_for_nothing(before: Application, after: Application | None) -> None:
    assert asks_for_app(before, after) == ()


def test_a_spec_change_while_deleting_renders_nothing() -> None:
    assert asks_for_app(deleting("f"), replace(deleting("f"), spec=OTHER_SPEC.spec)) == ()


@pytest.mark.parametrize(
    ("before", "after", "emitted"),
    [
        (APP, None, (AppDeleted(app=KEY),)),
        (deleting(), None, ()),
        (None, None, ()),
        (APP, OTHER_SPEC, ()),
    ],
    ids=["went at once", "the handler publishes it", "never there", "still there"],
)
def test_the_end_of_an_application_is_said_by_whoever_sees_it_go(
    before: Application | None, after: Application | None, emitted: tuple[Event, ...]
) -> None:
    assert deletion_fact(before, after) == emitted


LIMITED = AppProject(metadata=Metadata(name="web", namespace="argocd"))
OPEN = replace(LIMITED, spec=AppProjectSpec(source_repos=("*",)))


@pytest.mark.parametrize(
    ("before", "after"),
    [(LIMITED, OPEN), (None, LIMITED), (LIMITED, None)],
    ids=["changed", "made", "gone"],
)
def test_a_projects_rules_are_looked_at_again_by_who_lives_by_them(
    before: AppProject | None, after: AppProject | None
) -> None:
    assert asks_for_project(before, after, [OTHER_SPEC]) == (REFRESH,)
    assert asks_for_project(before, after, [APP]) == ()


def test_a_project_that_changed_lets_its_deletions_go_on() -> None:
    leaving = replace(OTHER_SPEC, metadata=replace(OTHER_SPEC.metadata, deletion_timestamp="t"))
    assert asks_for_project(LIMITED, None, [leaving]) == (DeleteApp(app=KEY),)


def test_an_unknown_field_that_comes_or_goes_is_a_change() -> None:
    unknown = (UnknownField(path="spec.syncPolicy.automatic"),)
    assert asks_for_app(replace(APP, unknown_fields=unknown), APP) == (REFRESH,)
    assert asks_for_project(replace(LIMITED, unknown_fields=unknown), LIMITED, [OTHER_SPEC]) == (
        REFRESH,
    )


def test_a_project_that_says_the_same_asks_nobody() -> None:
    listed_again = replace(LIMITED, metadata=replace(LIMITED.metadata, resource_version="9"))
    assert asks_for_project(LIMITED, listed_again, [OTHER_SPEC]) == ()


def test_an_application_with_the_warning_shares_an_object() -> None:
    warned = Condition(type=ConditionType.SHARED_RESOURCE_WARNING, message="a")
    assert is_sharing(replace(APP, status=ApplicationStatus(conditions=(warned,))))
    assert not is_sharing(APP)
