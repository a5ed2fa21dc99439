from __future__ import annotations

from typing import Any

import pytest

from bus.status import ConditionType
from handlers.application.unsupported import unsupported
from handlers.application.validate import problems
from tests.application.build import REPO, application, project

SOURCE = {"repoURL": REPO, "path": "web"}

SPECS: dict[str, tuple[dict[str, Any], str]] = {
    "ignoreDifferences": ({"ignoreDifferences": [{"kind": "Pod"}]}, "spec.ignoreDifferences"),
    "namespace metadata": (
        {"syncPolicy": {"managedNamespaceMetadata": {"labels": {"a": "b"}}}},
        "managedNamespaceMetadata",
    ),
    "ref": ({"source": SOURCE | {"ref": "values"}}, "spec.source.ref"),
    "helm 2": ({"source": SOURCE | {"helm": {"version": "v2"}}}, "spec.source.helm.version"),
    "helm credentials": ({"source": SOURCE | {"helm": {"passCredentials": True}}}, "passCred"),
    "kustomize": ({"source": SOURCE | {"kustomize": {"version": "v5"}}}, "kustomize.version"),
    "kustomize kube": ({"source": SOURCE | {"kustomize": {"kubeVersion": "1.30"}}}, "kubeVersion"),
    "force": ({"syncPolicy": {"syncOptions": ["Force=true"]}}, "Force=true"),
    "client side": ({"syncPolicy": {"syncOptions": ["ServerSideApply=false"]}}, "ServerSideApply"),
    "confirm": ({"syncPolicy": {"syncOptions": ["Prune=confirm"]}}, "Prune=confirm"),
    "unknown": ({"syncPolicy": {"syncOptions": ["Magic=true"]}}, "Magic=true"),
}


@pytest.mark.parametrize(("spec", "field"), SPECS.values(), ids=SPECS)
def test_a_field_without_effect_is_reported_and_does_not_block(
    spec: dict[str, Any], field: str
) -> None:
    app = application(spec)
    (found,) = unsupported(app, project())
    assert found.type == ConditionType.UNSUPPORTED_FIELD_WARNING
    assert field in found.message
    assert problems(app, project()) == ()


@pytest.mark.parametrize("option", ["CreateNamespace=true", "PruneLast=true", "Replace=true"])
def test_an_option_with_effect_is_not_reported(option: str) -> None:
    assert unsupported(application({"syncPolicy": {"syncOptions": [option]}}), project()) == ()


def test_windows_and_orphans_of_the_project_are_reported() -> None:
    rules = {"syncWindows": [{"kind": "deny"}], "orphanedResources": {}}
    assert len(unsupported(application(), project(rules))) == 2


def test_hooks_are_named() -> None:
    hook = {
        "kind": "Job",
        "metadata": {"name": "migrate", "annotations": {"argocd.argoproj.io/hook": "PreSync"}},
    }
    (found,) = unsupported(application(), project(), [hook, {"kind": "Job"}])
    assert "Job migrate" in found.message


def test_a_project_that_demands_signatures_blocks() -> None:
    (found,) = problems(application(), project({"signatureKeys": [{"keyID": "4AEE18F83AFDEB23"}]}))
    assert found.type == ConditionType.INVALID_SPEC_ERROR
    assert "signed" in found.message
