"""What a hydrator reads, writes and deploys, and what is wrong with one."""

from __future__ import annotations

from typing import Any

import pytest

from bus.events import HydrateBranch
from bus.identity import HydratedBranch, RepositoryKey
from handlers.application.application import Application
from handlers.application.source_hydrator import (
    as_dry,
    hydrated_branch,
    hydrated_folder,
    hydrations,
    hydrator_problems,
)
from handlers.application.spec import SourceHydrator
from tests.unit.handlers.application.builders import application
from tests.unit.handlers.hydrate.hydrated_applications import DRY, hydrated, synced_from

KEY = RepositoryKey.of(DRY)


def hydrator_of(app: Application) -> SourceHydrator:
    assert app.spec.source_hydrator is not None
    return app.spec.source_hydrator


def test_the_sync_source_is_what_is_deployed() -> None:
    app = hydrated(spec={"sources": [{"repoURL": DRY, "path": "other"}]})
    (source,) = app.sources
    assert (source.repo_url, source.target_revision, source.path) == (DRY, "env", "apps/web")
    assert [one.path for one in app.followed_sources] == ["apps/web", "charts/web"]
    elsewhere = hydrated(**synced_from(repoURL="https://git.example/wet"))
    assert [one.repo_url for one in elsewhere.sources] == ["https://git.example/wet"]


def test_the_branch_to_hydrate_to_is_written_and_the_other_one_deployed() -> None:
    app = hydrated(hydrateTo={"targetBranch": "env-next"})
    assert hydrated_branch(app) == HydratedBranch("default", KEY, "main", KEY, "env-next")
    assert [one.target_revision for one in app.sources] == ["env"]


def test_the_dry_application_has_neither_hydrator_nor_operation() -> None:
    app = as_dry(hydrated(status={"sync": {"revision": "c0ffee"}}))
    assert [one.path for one in app.sources] == ["charts/web"]
    assert app.spec.source_hydrator is None
    assert not app.status.sync.revision


def test_a_branch_is_asked_for_once_whatever_the_number_of_its_applications() -> None:
    apps = [hydrated("a"), hydrated("b"), application(), hydrated("c", spec={"project": "other"})]
    asks = hydrations(apps)
    assert [ask.branch.project for ask in asks] == ["default", "other"]
    assert all(isinstance(ask, HydrateBranch) for ask in asks)


@pytest.mark.parametrize("path", ["apps/web", "apps/web/", "./apps//web"])
def test_a_folder_has_one_form(path: str) -> None:
    assert hydrated_folder(hydrator_of(hydrated(**synced_from(path=path)))) == "apps/web"


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no dry source": ({"drySource": None}, "drySource.repoURL is empty"),
    "no branch": (synced_from(targetBranch=""), "syncSource.targetBranch is empty"),
    "an option": (synced_from(targetBranch="--force"), "no name of a branch"),
    "a refspec": (synced_from(targetBranch="a:b"), "no name of a branch"),
    "dots": (synced_from(targetBranch="a/../b"), "no name of a branch"),
    "a lock": (synced_from(targetBranch="env.lock"), "no name of a branch"),
    "a long branch": (synced_from(targetBranch="a" * 251), "no name of a branch"),
    "no branch to write": ({"hydrateTo": {}}, "hydrateTo.targetBranch is empty"),
    "the root": (synced_from(path="."), "is the root"),
    "no path": (synced_from(path=""), "is the root"),
    "out of the branch": (synced_from(path="apps/../../etc"), "leaves the repository"),
    "absolute": (synced_from(path="/etc"), "leaves the repository"),
    "Git's own folder": (synced_from(path="apps/.GIT/hooks"), "is the name of a file"),
    "a file of the root": (synced_from(path="hydrator.metadata"), "is the name of a file"),
    "a line break": (synced_from(path="a\nb"), "no path of a folder"),
    "what is not seen": (synced_from(path="\u200c.git"), "no path of a folder"),
    "what a host runs": (synced_from(path=".github/workflows"), "hosts run what"),
    "a hidden folder": (synced_from(path="apps/.tekton"), "hosts run what"),
    "a registry": (synced_from(repoURL="oci://registry.example/web"), "no Git repository"),
    "a chart": (
        {"drySource": {"repoURL": DRY, "chart": "web", "targetRevision": "1.0"}},
        "drySource.chart is set",
    ),
    "what is read": (synced_from(targetBranch="main"), "reads and writes the branch 'main'"),
}


@pytest.mark.parametrize(("parts", "expected"), WRONG.values(), ids=WRONG)
def test_a_wrong_hydrator_is_named_by_its_field_and_asks_for_nothing(
    parts: dict[str, Any], expected: str
) -> None:
    app = hydrated(**parts)
    assert expected in "; ".join(hydrator_problems(hydrator_of(app)))
    assert hydrated_branch(app) is None
    assert hydrations([app]) == ()


def test_a_sound_hydrator_has_no_problem() -> None:
    hydrator = hydrator_of(hydrated(hydrateTo={"targetBranch": "environments/dev-next"}))
    assert not list(hydrator_problems(hydrator))
