"""FollowerIndex against a look at all Applications, after any sequence of changes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent.store.source_followers import FollowerIndex
from bus.identity import AppKey, RepositoryKey
from bus.status import ConditionType
from handlers.application.application import Application, repository_of
from handlers.application.status import of_type
from handlers.ports import SourceFollowers, SourceGroup
from handlers.render.recipes import names_revision
from tests.unit.handlers.application.builders import REPO, application

OTHER = "https://git.example/other"
SPELLED = REPO.replace("git.", "GIT.")
ERROR = {"type": "ComparisonError", "message": "no such host"}
REVISION = {"parameters": [{"name": "tag", "value": "$ARGOCD_APP_REVISION"}]}


@st.composite
def applications(draw: st.DrawFn) -> Application:
    """One of three names, so that most of them are changes."""
    one: dict[str, Any] = {
        "repoURL": draw(st.sampled_from([REPO, SPELLED, OTHER, "no url"])),
        "path": draw(st.sampled_from(["web", "api"])),
        "targetRevision": draw(st.sampled_from(["main", "v1"])),
    }
    if draw(st.booleans()):
        one["helm"] = REVISION
    several = draw(st.booleans())
    source = {"sources": [one, {"repoURL": OTHER, "path": "x"}]} if several else {"source": one}
    metadata: dict[str, Any] = {"name": draw(st.sampled_from(["a", "b", "c"]))}
    if draw(st.booleans()):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return application(
        {**source, "project": draw(st.sampled_from(["shop", "bank"]))},
        metadata=metadata,
        status={"conditions": [ERROR] if draw(st.booleans()) else []},
    )


def expected(apps: dict[AppKey, Application], url: str) -> dict[SourceGroup, set[AppKey]]:
    found: dict[SourceGroup, set[AppKey]] = {}
    for key, app in apps.items():
        for source in app.sources:
            if app.deleting or repository_of(source) != RepositoryKey.of(url):
                continue
            group = SourceGroup(
                source.repo_url, app.spec.project, source.target_revision, app.metadata.namespace
            )
            found.setdefault(group, set()).add(key)
    return found


@given(st.lists(st.tuples(applications(), st.booleans()), max_size=12))
def test_the_index_is_what_a_look_at_all_finds(changes: list[tuple[Application, bool]]) -> None:
    index, apps = FollowerIndex(), dict[AppKey, Application]()
    for app, is_deleted in changes:
        before = apps.pop(app.key, None)
        if not is_deleted:
            apps[app.key] = app
        index.change(before, apps.get(app.key))
    for url in (REPO, OTHER):
        assert dict(index.of(RepositoryKey.of(url))) == expected(apps, url)
    followed = {one for app in apps.values() if not app.deleting for one in app.repositories}
    assert set(index.repositories()) == followed
    assert index.in_error == {
        key
        for key, app in apps.items()
        if of_type(app.status.conditions, ConditionType.COMPARISON_ERROR)
    }
    following = (key for one in map(RepositoryKey.of, (REPO, OTHER)) for key in keys(index, one))
    assert index.naming_commit == {key for key in following if names(apps[key])}


def keys(index: FollowerIndex, repository: RepositoryKey) -> set[AppKey]:
    return {key for one in index.of(repository) for key in SourceFollowers(*one).apps}


def names(app: Application) -> bool:
    return any(names_revision(one) for one in app.sources if repository_of(one) is not None)
