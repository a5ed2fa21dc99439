from __future__ import annotations

from typing import Any

import pytest

from handlers.application.operation_problems import operation_problem
from tests.unit.handlers.application.builders import REPO, application

SOURCE = {"repoURL": REPO, "path": "web", "targetRevision": "main"}


def problem_of(sync: dict[str, Any]) -> str:
    app = application(operation={"sync": sync})
    assert app.operation is not None
    return operation_problem(app, app.operation)


@pytest.mark.parametrize(
    "sync",
    [
        {"manifests": ["{}"]},
        {"revisions": ["a"]},
        {"source": SOURCE | {"path": "other"}},
    ],
    ids=["local manifests", "several revisions", "another source"],
)
def test_what_would_deploy_something_else_is_refused(sync: dict[str, Any]) -> None:
    assert problem_of(sync)


@pytest.mark.parametrize(
    "sync",
    [{}, {"revision": "v1"}, {"source": SOURCE}, {"syncStrategy": {"apply": {"force": True}}}],
    ids=str,
)
def test_a_sync_of_the_own_source_is_done(sync: dict[str, Any]) -> None:
    assert problem_of(sync) == ""


TWO = [SOURCE, SOURCE | {"path": "api"}]
BEFORE = [SOURCE | {"path": "before"}]
HISTORY = {"history": [{"id": 0, "revisions": ["a"], "sources": BEFORE}]}


@pytest.mark.parametrize(
    ("sync", "problem"),
    [
        ({}, ""),
        ({"revisions": ["v1", ""]}, ""),
        ({"sources": [one | {"targetRevision": "v1"} for one in TWO]}, ""),
        ({"sources": BEFORE, "revisions": ["a"]}, ""),
        ({"revision": "v1"}, "the application has 2 sources"),
        ({"revisions": ["v1"]}, "1 revisions for 2 sources"),
        ({"sources": BEFORE, "revisions": ["a", "b"]}, "2 revisions for 1 sources"),
        ({"sources": TWO[::-1]}, "operation.sync.sources"),
        ({"sources": TWO[:1]}, "operation.sync.sources"),
        ({"source": SOURCE}, "operation.sync.source:"),
        ({"source": SOURCE, "sources": TWO}, "expected one of them"),
    ],
    ids=str,
)
def test_revisions_and_sources_are_named_one_by_one(sync: dict[str, Any], problem: str) -> None:
    app = application({"sources": TWO}, operation={"sync": sync}, status=HISTORY)
    assert app.operation is not None
    found = operation_problem(app, app.operation)
    assert problem in found
    assert bool(problem) == bool(found)


def test_the_own_source_at_another_revision_is_a_rollback() -> None:
    assert problem_of({"source": SOURCE | {"targetRevision": "v1"}, "revision": "v1"}) == ""
