"""The Applications of a branch, and folders that two of them want."""

from __future__ import annotations

from bus.identity import AppKey
from handlers.application.application import AppProject
from handlers.application.source_hydrator import hydrated_branch
from handlers.hydrate.members import claimed_folders, members_of
from tests.unit.handlers.application.builders import application, project
from tests.unit.handlers.hydrate.hydrated_applications import hydrated, synced_from

OPEN = project()


def names(*apps: object) -> list[str]:
    return [app.metadata.name for app in apps]  # type: ignore[attr-defined]


def of_any(_name: str) -> AppProject | None:
    return OPEN


def test_members_are_those_of_the_branch_that_may_be_hydrated() -> None:
    new, old = hydrated("new", age=9), hydrated("old", age=1)
    branch = hydrated_branch(new)
    assert branch is not None
    others = (
        application(),
        hydrated("elsewhere", **synced_from(targetBranch="prod")),
        hydrated("of another project", spec={"project": "other"}),
        hydrated("going", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        hydrated(
            "skipped", metadata={"annotations": {"argocd.argoproj.io/skip-reconcile": "true"}}
        ),
        hydrated("of a namespace that is not admitted", metadata={"namespace": "team"}),
    )
    assert names(*members_of((new, *others, old), branch, OPEN)) == ["old", "new"]
    assert not members_of((new, old), branch, None)
    closed = project({"sourceRepos": ["https://git.example/other"]})
    assert not members_of((new, old), branch, closed)


def test_the_older_application_has_the_folder() -> None:
    old, new = (hydrated(name, age=age, **synced_from()) for name, age in (("b", 1), ("a", 2)))
    claimed = claimed_folders([old, new], [new, old], of_any)
    assert list(claimed) == [AppKey("argocd", "a")]
    assert "written by the Application argocd/b" in claimed[new.key]


def test_an_application_of_another_project_is_not_named() -> None:
    mine = hydrated("mine", age=2, **synced_from())
    theirs = hydrated("theirs", age=1, spec={"project": "other"}, **synced_from())
    claimed = claimed_folders([mine], [theirs, mine], of_any)
    assert "an Application of another project" in claimed[mine.key]
    assert "theirs" not in claimed[mine.key]


def test_whoever_may_not_hydrate_claims_no_folder() -> None:
    mine = hydrated("mine", age=2, **synced_from())
    theirs = hydrated("theirs", age=1, spec={"project": "closed"}, **synced_from())
    closed = project({"sourceRepos": []})
    found = claimed_folders(
        [mine], [theirs, mine], lambda name: closed if name == "closed" else OPEN
    )
    assert not found
