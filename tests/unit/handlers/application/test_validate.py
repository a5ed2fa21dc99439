from __future__ import annotations

from typing import Any

import pytest

from bus.status import ConditionType
from handlers.application.validate import problems
from tests.unit.handlers.application.builders import REPO, SERVER, application, project

SOURCE = {"repoURL": REPO, "path": "web"}

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no source": ({"source": None}, "spec.source is missing"),
    "the second source": (
        {"source": None, "sources": [SOURCE, {"repoURL": REPO}]},
        "spec.sources[1].path is empty",
    ),
    "only a ref": (
        {"source": {"repoURL": REPO, "ref": "values"}},
        "spec.source has a ref and no path",
    ),
    "hydrator without a dry source": (
        {"sourceHydrator": {"syncSource": {"targetBranch": "env", "path": "web"}}},
        "spec.sourceHydrator.drySource.repoURL is empty",
    ),
    "hydrator without a folder to read": (
        {
            "sourceHydrator": {
                "drySource": {"repoURL": REPO},
                "syncSource": {"targetBranch": "env", "path": "web"},
            }
        },
        "spec.sourceHydrator.drySource.path is empty",
    ),
    "no path": ({"source": {"repoURL": REPO}}, "spec.source.path is empty"),
    "no url": ({"source": {"repoURL": "", "path": "web"}}, "spec.source.repoURL is empty"),
    "chart without version": ({"source": {"repoURL": REPO, "chart": "nginx"}}, "targetRevision"),
    "artifact without tag": (
        {"source": {"repoURL": "oci://registry.example/web", "path": "."}},
        "targetRevision",
    ),
    "artifact without path": (
        {"source": {"repoURL": "oci://registry.example/web", "chart": "a", "targetRevision": "1"}},
        "spec.source.path is empty",
    ),
    "oci": ({"source": {"repoURL": "oci://r.example/x", "path": "."}}, "a tag, a digest or"),
    "name of a plugin": (
        {"source": SOURCE | {"plugin": {"name": "../x"}}},
        "spec.source.plugin.name '../x'",
    ),
    "plugin and another kind": (
        {"source": SOURCE | {"plugin": {}, "kustomize": {}}},
        "kustomize and plugin",
    ),
    "variable of a plugin": (
        {"source": SOURCE | {"plugin": {"env": [{"name": "A=B", "value": "x"}]}}},
        "'ARGOCD_ENV_A=B' cannot be a variable",
    ),
    "large parameter of a plugin": (
        {"source": SOURCE | {"plugin": {"parameters": [{"name": "a", "string": "x" * 200_000}]}}},
        "has more than 131072 bytes",
    ),
    "absolute path": ({"source": {"repoURL": REPO, "path": "/web"}}, "is absolute"),
    "path upwards": ({"source": {"repoURL": REPO, "path": "a/../../b"}}, "leaves the repository"),
    "two kinds": ({"source": SOURCE | {"helm": {}, "directory": {}}}, "helm and directory"),
    "two names": (
        {"destination": {"server": SERVER, "name": "in-cluster"}},
        "both server and name",
    ),
    "no destination": ({"destination": {"namespace": "shop"}}, "spec.destination is missing"),
    "back-off": (
        {"syncPolicy": {"retry": {"limit": 1, "backoff": {"duration": "soon"}}}},
        "spec.syncPolicy.retry.backoff.duration",
    ),
}


@pytest.mark.parametrize(("spec", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_spec_is_told_by_its_field(spec: dict[str, Any], message: str) -> None:
    found = problems(application(spec), project())
    assert [one.type for one in found] == [ConditionType.INVALID_SPEC_ERROR]
    assert message in found[0].message


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"destination": {"name": "in-cluster", "namespace": "shop"}},
        {"source": None, "sources": [SOURCE]},
        {"source": {"repoURL": "not used"}, "sources": [SOURCE, SOURCE | {"path": "api"}]},
        {"source": {"repoURL": REPO, "path": "."}},
    ],
    ids=["plain", "by name", "one of sources", "sources before source", "root"],
)
def test_a_good_spec_has_no_problems(spec: dict[str, Any]) -> None:
    assert problems(application(spec), project()) == ()


def test_every_problem_is_told_at_once() -> None:
    spec: dict[str, Any] = {"source": None, "destination": {}, "project": "shop"}
    assert len(problems(application(spec), None)) == 3


def test_a_missing_project_is_named() -> None:
    (found,) = problems(application({"project": "shop"}), None)
    assert "'shop' does not exist" in found.message


def test_the_project_limits_source_destination_and_namespace_of_the_application() -> None:
    rules = {"sourceRepos": ["https://other.example/*"], "destinations": []}
    app = application(metadata={"namespace": "team"})
    assert len(problems(app, project(rules))) == 3


def test_each_source_must_be_permitted() -> None:
    other = {"repoURL": "https://other.example/shop", "path": "web"}
    app = application({"source": None, "sources": [SOURCE, other]})
    (found,) = problems(app, project({"sourceRepos": [REPO]}))
    assert "https://other.example/shop is not permitted" in found.message


def test_the_password_of_a_url_is_not_told_with_its_refusal() -> None:
    url = "https://bot:hunter2@git.example/shop"
    app = application({"source": {"repoURL": url, "path": "web"}})
    (found,) = problems(app, project({"sourceRepos": []}))
    assert "https://git.example/shop" in found.message
    assert "hunter2" not in found.message
