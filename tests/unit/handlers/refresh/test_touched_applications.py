"""Which applications a look concerns, and how long to wait after a failure."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from bus.identity import NO_DIGEST, AppKey, Digest, RepositoryKey, Revision
from handlers.application import times
from handlers.application.application import Application
from handlers.application.failure_wait import wait
from handlers.ports import SourceFollowers, SourceGroup
from handlers.ports.render_record import RefRecord, RenderRecord, SourceRecord
from handlers.ports.rendering import SourceType
from handlers.refresh.touched_applications import (
    ResolvedTarget,
    by_target_revision,
    outdated,
    unsettled,
)
from tests.unit.agent.renderer.written_tree import WrittenTree
from tests.unit.handlers.application.builders import REPO, application

RECIPE = Digest("sha256:1")
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
COMMIT = Revision("1" * 40)
NOW_AT = ResolvedTarget(
    repository=RepositoryKey.of(REPO),
    target="main",
    revision=COMMIT,
    tree=WrittenTree({"web/a.yaml": "1"}),
)


def failing(message: str, seconds: float) -> Application:
    since = times.written(NOW - timedelta(seconds=seconds))
    condition = {"type": "ComparisonError", "message": message, "lastTransitionTime": since}
    return application(status={"conditions": [condition]})


def record(url: str = REPO, **read_set: str) -> RenderRecord:
    return RenderRecord(
        app=AppKey("argocd", "web"),
        sources=(
            SourceRecord(
                repository=RepositoryKey.of(url),
                revision=Revision("0" * 40),
                recipe=RECIPE,
                source_type=SourceType.DIRECTORY,
                read_set=read_set,
            ),
        ),
        digest=NO_DIGEST,
        objects=0,
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
    assert not outdated(application(), record(**{"web/b.yaml": ""}), NOW_AT)
    assert outdated(application(), record(**{"web/b.yaml": "was there"}), NOW_AT)


def test_a_source_that_says_the_commit_is_outdated_by_every_commit() -> None:
    helm: dict[str, Any] = {"parameters": [{"name": "a", "value": "$ARGOCD_APP_REVISION"}]}
    source = {"repoURL": REPO, "path": "web", "targetRevision": "main", "helm": helm}
    app = application({"source": source})
    assert outdated(app, record(), NOW_AT)
    (only,) = record().sources
    known = replace(record(), sources=(replace(only, revision=COMMIT),))
    assert not outdated(app, known, NOW_AT)


@pytest.mark.parametrize(
    ("failing_for", "expected"), [(None, 2.0), (0, 2.0), (40, 40.0), (4000, 180.0)]
)
def test_the_wait_doubles_within_bounds(failing_for: float | None, expected: float) -> None:
    apps = [application()] if failing_for is None else [failing("down", failing_for)]
    assert wait(apps, "down", NOW) == expected


def test_another_failure_begins_its_own_wait() -> None:
    assert wait([failing("broken yaml", 4000)], "down", NOW) == 2.0


VALUES = "https://git.example/values"


def two(*, follows: str = "main", **read_of_ref: str) -> tuple[Application, RenderRecord]:
    """A chart that reads files of another repository, and its record."""
    chart = {"repoURL": REPO, "path": "web", "targetRevision": follows}
    lent = {"repoURL": VALUES, "ref": "values", "targetRevision": "main"}
    (own,) = record().sources
    (other,) = record(VALUES).sources
    refs = {"values": RefRecord(other.repository, read_of_ref)}
    sources = (replace(own, refs=refs), replace(other, recipe=NO_DIGEST))
    known = replace(record(), sources=sources, several=True)
    return application({"sources": [chart, lent]}), known


def test_a_commit_outdates_who_reads_its_files_by_a_ref() -> None:
    now = replace(NOW_AT, repository=RepositoryKey.of(VALUES))
    assert outdated(*two(**{"web/a.yaml": "another id"}), now)
    assert not outdated(*two(**{"web/b.yaml": ""}), now)
    assert not outdated(*two(**{"web/a.yaml": "another id"}), NOW_AT)


def test_a_target_that_no_source_follows_outdates_nothing() -> None:
    app, known = two(follows="v1")
    (own, lent) = known.sources
    known = replace(known, sources=(replace(own, read_set={"web/b.yaml": "was there"}), lent))
    assert not outdated(app, known, NOW_AT)
    assert outdated(app, known, replace(NOW_AT, target="v1"))


def test_sources_that_came_or_went_are_unsettled() -> None:
    app, known = two()
    assert not unsettled(app, known, RepositoryKey.of(VALUES))
    fewer = replace(known, sources=known.sources[:1])
    assert unsettled(app, fewer, RepositoryKey.of(REPO))
    turned = replace(known, sources=known.sources[::-1])
    assert unsettled(app, turned, RepositoryKey.of(REPO))


def test_each_commit_renders_what_a_plugin_rendered() -> None:
    made = record()
    source = replace(made.sources[0], plugin="cue", source_type=SourceType.PLUGIN)
    by_plugin = replace(made, sources=(source,))
    assert not outdated(application(), made, NOW_AT)
    assert outdated(application(), by_plugin, NOW_AT)
    here = replace(by_plugin, sources=(replace(source, revision=COMMIT),))
    assert not outdated(application(), here, NOW_AT)
