"""A source with the override files of its folder merged over it."""

from __future__ import annotations

from typing import Any

import pytest

from bus.status import Reason
from handlers.application.application import Application
from handlers.application.spec import Source
from handlers.ports.rendering import RenderError
from handlers.render.source_overrides import overridden, unsupported_of_overrides
from tests.unit.handlers.application.builders import REPO, application

FILE = "web/.argocd-source.yaml"
HELM = {"parameters": [{"name": "a", "value": "1"}], "releaseName": "web"}


def source(**parts: Any) -> Source:
    app: Application = application({"source": {"repoURL": REPO, "path": "web"} | parts})
    assert app.source is not None
    return app.source


def test_fields_are_merged_lists_replaced_and_null_deletes() -> None:
    patch = {"helm": {"parameters": [{"name": "b", "value": "2"}], "releaseName": None}}
    merged = overridden(source(helm=HELM), patch, FILE)
    assert merged == source(helm={"parameters": [{"name": "b", "value": "2"}]})


def test_the_repository_and_the_place_in_it_stay() -> None:
    patch = {
        "repoURL": "https://evil.example/x",
        "path": "../..",
        "chart": "x",
        "targetRevision": "other",
        "ref": "values",
        "name": "x",
    }
    assert overridden(source(), patch, FILE) == source()


def test_a_block_that_the_file_brings_is_explicit() -> None:
    patch = {"kustomize": {"images": ["web:2"]}}
    assert overridden(source(), patch, FILE) == source(**patch)


def test_an_empty_file_changes_nothing() -> None:
    assert overridden(source(), None, FILE) == overridden(source(), {}, FILE) == source()


WRONG: dict[str, tuple[object, str]] = {
    "no mapping": (["helm"], "expected the fields of a source"),
    "a wrong type": ({"helm": {"skipCrds": "maybe"}}, "helm.skipCrds"),
    "an unknown field": ({"helm": {"paramters": []}}, "'helm.paramters'"),
    "the commit": ({"helm": {"values": "a: $ARGOCD_APP_REVISION"}}, "in the spec only"),
    "another kind": ({"kustomize": {}}, "helm and kustomize"),
    "a plugin besides": ({"plugin": {"name": "x"}}, "helm and plugin"),
    "no name of a plugin": ({"helm": None, "plugin": {"name": "a/b"}}, "plugin.name 'a/b'"),
}


@pytest.mark.parametrize(("document", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_merged_is_refused_with_its_file(document: object, message: str) -> None:
    with pytest.raises(RenderError) as caught:
        overridden(source(helm=HELM), document, FILE)
    assert caught.value.reason is Reason.INVALID_SPEC
    assert FILE in caught.value.message
    assert message in caught.value.message


def test_a_field_of_the_file_that_is_not_acted_on_is_said_once() -> None:
    written = source(helm={"version": "v2"})
    merged = overridden(written, {"helm": {"version": "v2", "kubeVersion": "1.30"}}, FILE)
    assert unsupported_of_overrides(written, merged) == ()

    merged = overridden(source(), {"kustomize": {"version": "v4"}}, FILE)
    (text,) = unsupported_of_overrides(source(), merged)
    assert text.startswith("`.argocd-source`.kustomize.version is not acted on")


def test_where_a_login_goes_is_said_by_the_spec_alone() -> None:
    chart, passing = {"chart": "web", "path": ""}, {"passCredentials": True}
    merged = source(**chart, helm=passing)
    (text,) = unsupported_of_overrides(source(**chart), merged)
    assert "helm.passCredentials" in text
    assert "the spec of the Application" in text
    assert unsupported_of_overrides(merged, merged) == ()
