"""Which applications a look concerns, and how long to wait after a failure."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from bus.identity import NO_DIGEST, AppKey, RepositoryKey, Revision
from handlers.application import times
from handlers.application.application import Application
from handlers.ports import SourceFollowers, SourceGroup
from handlers.ports.rendering import RenderRecord, SourceType
from handlers.refresh.touched_applications import (
    by_target_revision,
    outdated,
    unsettled,
    wait,
)
from tests.unit.agent.renderer.written_tree import WrittenTree
from tests.unit.handlers.application.builders import REPO, application

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
COMMIT = Revision("1" * 40)
TREE = (COMMIT, WrittenTree({"web/a.yaml": "1"}))


def failing(message: str, seconds: float) -> Application:
    since = times.written(NOW - timedelta(seconds=seconds))
    condition = {"type": "ComparisonError", "message": message, "lastTransitionTime": since}
    return application(status={"conditions": [condition]})


def record(url: str = REPO, **read_set: str) -> RenderRecord:
    return RenderRecord(
        app=AppKey("argocd", "web"),
        repository=RepositoryKey.of(url),
        revision=Revision("0" * 40),
        recipe=NO_DIGEST,
        read_set=read_set,
        digest=NO_DIGEST,
        objects=0,
        source_type=SourceType.DIRECTORY,
    )


def test_applications_are_grouped_by_what_they_follow() -> None:
    web, api, old = (AppKey("argocd", name) for name in ("web", "api", "old"))
    followers = [
        SourceFollowers(SourceGroup(REPO, "shop", "main"), {web}),
        SourceFollowers(SourceGroup(REPO, "bank", "main"), {api}),
        SourceFollowers(SourceGroup(REPO, "shop", "v1"), {old}),
    ]
    assert by_target_revision(followers) == {"main": {web, api}, "v1": {old}}


@pytest.mark.parametrize(
    ("app", "known", "expected"),
    [
        (application(), record(), False),
        (application(), None, True),
        (application(), record("https://git.example/another"), True),
        (failing("no such host", 1), record(), True),
    ],
    ids=["settled", "never rendered", "rendered from elsewhere", "failed"],
)
def test_unsettled(app: Application, known: RenderRecord | None, expected: bool) -> None:  # noqa: FBT001  a table
    assert unsettled(app, known, RepositoryKey.of(REPO)) is expected


def test_a_read_set_that_holds_is_not_outdated() -> None:
    assert not outdated(application(), record(**{"web/b.yaml": ""}), TREE)
    assert outdated(application(), record(**{"web/b.yaml": "was there"}), TREE)


def test_a_source_that_says_the_commit_is_outdated_by_every_commit() -> None:
    helm: dict[str, Any] = {"parameters": [{"name": "a", "value": "$ARGOCD_APP_REVISION"}]}
    app = application({"source": {"repoURL": REPO, "path": "web", "helm": helm}})
    assert outdated(app, record(), TREE)
    assert not outdated(app, replace(record(), revision=COMMIT), TREE)


@pytest.mark.parametrize(
    ("failing_for", "expected"), [(None, 2.0), (0, 2.0), (40, 40.0), (4000, 180.0)]
)
def test_the_wait_doubles_within_bounds(failing_for: float | None, expected: float) -> None:
    apps = [application()] if failing_for is None else [failing("down", failing_for)]
    assert wait(apps, "down", NOW) == expected


def test_another_failure_begins_its_own_wait() -> None:
    assert wait([failing("broken yaml", 4000)], "down", NOW) == 2.0
