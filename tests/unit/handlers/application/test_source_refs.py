"""What is wrong between the sources of one Application."""

from typing import Any

import pytest

from handlers.application.source_refs import MAX_SOURCES, ref_problems, used_refs
from handlers.application.spec import HelmFileParameter, HelmSource
from tests.unit.handlers.application.builders import REPO, application

CHART = {"repoURL": REPO, "path": "chart"}
VALUES = {"repoURL": "https://git.example/values", "ref": "values"}


def reading(*paths: str) -> dict[str, Any]:
    return CHART | {"helm": {"valueFiles": list(paths)}}


def problems_of(*sources: dict[str, Any]) -> list[str]:
    return [*ref_problems(application({"sources": list(sources)}).sources)]


@pytest.mark.parametrize(
    "sources",
    [
        (CHART,),
        (reading("$values/prod.yaml", "own.yaml", "$ARGOCD_APP_NAME/x.yaml"), VALUES),
        (VALUES, reading("$values/prod.yaml")),
        (CHART | {"ref": "own"}, reading("$own/prod.yaml")),
        (CHART, VALUES, VALUES | {"ref": "again"}),
    ],
    ids=["one", "ref and variable", "ref first", "ref that renders", "two refs of one target"],
)
def test_good_sources_have_no_problems(sources: tuple[dict[str, Any], ...]) -> None:
    assert problems_of(*sources) == []


WRONG: dict[str, tuple[tuple[dict[str, Any], ...], str]] = {
    "no ref": ((reading("$values/x"),), "spec.sources[0]: helm reads '$values/x', and no source"),
    "unknown ref": ((reading("$other/x"), VALUES), "the sources have values"),
    "file parameter": (
        (CHART | {"helm": {"fileParameters": [{"name": "a", "path": "$no/x"}]}},),
        "no source of the application has the ref 'no'",
    ),
    "name": ((CHART, VALUES | {"ref": "a/b"}), "spec.sources[1].ref 'a/b' is no name"),
    "chart": (
        (CHART, {"repoURL": "https://charts.example", "chart": "web", "ref": "values"}),
        "is of a source with a chart",
    ),
    "registry": ((CHART, VALUES | {"repoURL": "oci://r.example/x"}), "is of an OCI registry"),
    "two targets": (
        (CHART, VALUES, VALUES | {"ref": "old", "targetRevision": "v1"}),
        "'old' and 'values' are of one repository at different target revisions, 'v1' and ''",
    ),
    "only refs": ((VALUES,), "only refs"),
    "too many": ((CHART,) * (MAX_SOURCES + 1), f"at most {MAX_SOURCES}"),
}


@pytest.mark.parametrize(("sources", "message"), WRONG.values(), ids=WRONG)
def test_a_problem_is_told_with_its_place(sources: tuple[Any, ...], message: str) -> None:
    (found,) = problems_of(*sources)
    assert message in found


def test_a_name_that_two_sources_have_is_told_of_both() -> None:
    found = problems_of(CHART, VALUES, VALUES)
    assert [one.partition(" ")[0] for one in found] == [
        "spec.sources[1].ref",
        "spec.sources[2].ref",
    ]


def test_refs_are_used_where_a_path_begins_with_them() -> None:
    helm = HelmSource(
        value_files=("$b/x", "a/$c/x", "$unknown/x"),
        file_parameters=(HelmFileParameter(name="p", path="$a/y"),),
    )
    assert used_refs(helm, ("a", "b", "c")) == ("a", "b")
