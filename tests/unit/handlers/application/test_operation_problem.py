from __future__ import annotations

from typing import Any

import pytest

from handlers.application.validate import operation_problem
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


def test_the_own_source_at_another_revision_is_a_rollback() -> None:
    assert problem_of({"source": SOURCE | {"targetRevision": "v1"}, "revision": "v1"}) == ""
