"""What an attempt to hydrate leaves in the status."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from bus.identity import Revision
from handlers.application.application import Application
from handlers.application.hydration_status import (
    FAILED,
    HYDRATED,
    Hydration,
    has_written,
    hydration_conditions,
    is_hydrated,
    next_try,
    with_hydration,
)
from tests.unit.handlers.hydrate.hydrated_applications import hydrated, synced_from

FIRST, SECOND = Revision("a" * 40), Revision("b" * 40)
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
SUCCESS = Hydration(phase=HYDRATED, dry=FIRST, hydrated=SECOND)
FAILURE = Hydration(phase=FAILED, message="no Secret", dry=FIRST)


def after(app: Application, result: Hydration, now: str = EARLY) -> Application:
    return replace(app, status=with_hydration(app, result, now))


def test_an_application_is_hydrated_at_the_commit_of_its_last_success() -> None:
    app = after(hydrated(), SUCCESS)
    assert is_hydrated(app, FIRST)
    assert not is_hydrated(app, SECOND)
    assert not is_hydrated(hydrated(), FIRST)
    other = hydrated(**synced_from(path="apps/other"))
    assert not is_hydrated(replace(other, status=app.status), FIRST)
    asked = hydrated(metadata={"annotations": {"argocd.argoproj.io/hydrate": "normal"}})
    assert not is_hydrated(replace(asked, status=app.status), FIRST)


def test_its_own_commit_is_known_again_after_a_failure_too() -> None:
    app = after(after(hydrated(), SUCCESS), FAILURE, LATE)
    assert has_written(app, SECOND)
    assert not has_written(app, FIRST)
    assert not has_written(hydrated(), SECOND)
    mended = hydrated(**synced_from(targetBranch="other"))
    assert not has_written(replace(mended, status=app.status), SECOND)
    unchanged = Hydration(phase=HYDRATED, dry=FIRST, hydrated=FIRST)
    assert not has_written(after(hydrated(), unchanged), FIRST)


def test_an_attempt_that_ends_as_the_last_one_changes_nothing() -> None:
    for result in (SUCCESS, FAILURE):
        app = after(hydrated(), result)
        assert with_hydration(app, result, LATE) == app.status


def test_a_failure_keeps_the_last_success_and_is_a_condition() -> None:
    app = after(after(hydrated(), SUCCESS), FAILURE, LATE)
    status = app.status.source_hydrator
    assert status.last_successful_operation is not None
    assert status.last_successful_operation.dry_sha == FIRST
    (condition,) = hydration_conditions(app)
    assert (condition.type, condition.message) == ("HydrationError", "no Secret")
    assert hydration_conditions(after(app, SUCCESS)) == ()


def test_a_failure_of_another_spec_is_no_condition() -> None:
    failed = after(hydrated(), FAILURE)
    assert (
        hydration_conditions(replace(hydrated(**synced_from(path="x/y")), status=failed.status))
        == ()
    )


def test_the_next_try_waits_as_long_as_it_has_been_failing() -> None:
    status = after(hydrated(), FAILURE).status
    began = datetime(2026, 1, 1, tzinfo=UTC)
    waits = [next_try(status, began + timedelta(seconds=it)) for it in (0, 60, 3600)]
    assert waits == [2.0, 60.0, 180.0]
