"""What is not acted on is reported, and holds automated syncs where that could do harm."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from bus.status import ConditionType
from handlers.application.unknown_field import UnknownField
from handlers.application.unsupported import Unsupported, conditions_of
from handlers.application.unsupported_fields import unsupported
from handlers.application.validate import problems
from tests.golden import assert_golden
from tests.unit.handlers.application.builders import REPO, application, project

SOURCE = {"repoURL": REPO, "path": "web"}

SPECS: dict[str, dict[str, Any]] = {
    "namespace metadata": {"syncPolicy": {"managedNamespaceMetadata": {"labels": {"a": "b"}}}},
    "ref": {"source": SOURCE | {"ref": "values"}},
    "helm 2": {"source": SOURCE | {"helm": {"version": "v2"}}},
    "helm credentials": {"source": SOURCE | {"helm": {"passCredentials": True}}},
    "kustomize": {"source": SOURCE | {"kustomize": {"version": "v5"}}},
    "unknown": {"syncPolicy": {"syncOptions": ["Magic=true"]}},
}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_a_field_without_effect_is_reported_and_does_not_block(spec: dict[str, Any]) -> None:
    app = application(spec)
    (found,) = unsupported(app, project())
    (condition,) = conditions_of(app, (found,))
    assert condition.type == ConditionType.UNSUPPORTED_FIELD_WARNING
    assert problems(app, project()) == ()


def test_an_unknown_field_holds_automated_syncs_only_where_it_could_decide_something() -> None:
    unknown = [UnknownField(path=path) for path in ("spec.remark", "spec.source.shallow")]
    app = replace(application(), unknown_fields=(*unknown,))
    team = replace(project(), unknown_fields=(UnknownField(path="spec.onlyOnMondays"),))
    found = {it.field: it.harmful for it in unsupported(app, team)}
    of_team = f"spec.onlyOnMondays of AppProject {app.spec.project}"
    assert found == {"spec.remark": False, "spec.source.shallow": True, of_team: True}


def test_nothing_is_held_where_people_start_the_syncs() -> None:
    found = (Unsupported(field="x", consequence="y", harmful=True),)
    (condition,) = conditions_of(application(), found)
    assert condition.type == ConditionType.UNSUPPORTED_FIELD_WARNING


@pytest.mark.parametrize(
    "option",
    [
        "CreateNamespace=true",
        "Delete=confirm",
        "FailOnSharedResource=true",
        "Force=true",
        "Prune=confirm",
        "PruneLast=true",
        "Replace=true",
        "RespectIgnoreDifferences=true",
        "ServerSideApply=false",
    ],
)
def test_an_option_with_effect_is_not_reported(option: str) -> None:
    assert unsupported(application({"syncPolicy": {"syncOptions": [option]}}), project()) == ()


def manifest(name: str, **annotations: str) -> dict[str, Any]:
    notes = {f"argocd.argoproj.io/{key.replace('_', '-')}": v for key, v in annotations.items()}
    return {"kind": "Job", "metadata": {"name": name, "annotations": notes}}


@pytest.mark.parametrize("hook", ["Skip", "PreSync", "PostDelete"])
def test_a_hook_that_is_acted_on_is_not_reported(hook: str) -> None:
    assert unsupported(application(), project(), [manifest("test", hook=hook)]) == ()


OBJECT_OPTIONS = {
    "unknown": "Prune=maybe",
    "of applications only": "CreateNamespace=true",
}


@pytest.mark.parametrize("option", OBJECT_OPTIONS.values(), ids=OBJECT_OPTIONS)
def test_an_option_of_an_object_is_reported_with_its_bearers(option: str) -> None:
    bearers = [manifest("a", sync_options=option), manifest("b", sync_options=option)]
    (found,) = unsupported(application(), project(), bearers)
    assert option in found.message
    assert "Job a, Job b" in found.message


def test_an_option_of_an_object_that_is_acted_on_is_not_reported() -> None:
    bearer = manifest("a", sync_options="Prune=false, Replace=true,ServerSideApply=true")
    assert unsupported(application(), project(), [bearer]) == ()


def test_subscriptions_to_notifications_are_reported() -> None:
    notes = {"notifications.argoproj.io/subscribe.on-deployed.slack": "shop"}
    (found,) = unsupported(application(metadata={"annotations": notes}), project())
    assert "nobody is notified" in found.message


def test_a_generated_application_says_that_its_set_is_not_followed() -> None:
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "shops"}
    (found,) = unsupported(application(metadata={"ownerReferences": [owner]}), project())
    assert "ApplicationSet shops" in found.message


def policy(url: str, *, mode: str = "head") -> dict[str, Any]:
    return {"repos": [{"url": url}], "gpg": {"mode": mode, "keys": ["4AEE18F83AFDEB23"]}}


ANY = policy("*")
PROTECTING: dict[str, dict[str, Any]] = {
    "signatures": {"signatureKeys": [{"keyID": "4AEE18F8"}]},
    "integrity": {"sourceIntegrity": {"git": {"policies": [{}]}}},
    "several policies": {"sourceIntegrity": {"git": {"policies": [ANY, ANY]}}},
    "no pattern": {"sourceIntegrity": {"git": {"policies": [policy("https://{a")]}}},
    "no repository": {"sourceIntegrity": {"git": {"policies": [policy("!*")]}}},
    "another mode": {"sourceIntegrity": {"git": {"policies": [policy("*", mode="Head")]}}},
    "another kind": {"sourceIntegrity": {"helm": {"policies": []}}},
}


@pytest.mark.parametrize("rules", PROTECTING.values(), ids=PROTECTING)
def test_a_protection_that_is_not_understood_blocks(rules: dict[str, Any]) -> None:
    (found,) = problems(application(), project(rules))
    assert found.type == ConditionType.INVALID_SPEC_ERROR


def test_the_messages_of_conditions_are_those_of_the_golden_file() -> None:
    fields = {name: unsupported(application(it), project()) for name, it in SPECS.items()}
    options = {
        f"option {name}": unsupported(application(), project(), [manifest("a", sync_options=it)])
        for name, it in OBJECT_OPTIONS.items()
    }
    protecting = {
        f"project {name}": problems(application(), project(rules))
        for name, rules in PROTECTING.items()
    }
    found = {name: conditions_of(application(), it) for name, it in (fields | options).items()}
    texts = {
        name: " | ".join(f"{it.type}: {it.message}" for it in conditions)
        for name, conditions in (found | protecting).items()
    }
    assert_golden("conditions", texts)


def test_annotations_of_argo_cds_domain_that_nobody_knows_are_named() -> None:
    """Of the Application and of its objects, each once; not those of other domains."""
    noted = {"argocd.argoproj.io/skip-reconsile": "true", "argocd.argoproj.io/refresh": "normal"}
    app = application(metadata={"annotations": noted | {"example.com/x": "y"}})
    made = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "annotations": {
                    "argocd.argoproj.io/sync-wave": "1",
                    "argocd.argoproj.io/sync-vawe": "1",
                    "argocd.argoproj.io/managed-by-url": "https://cd.example",
                },
            },
        }
        for name in ("b", "a")
    ]
    found = {one.field: one.consequence for one in unsupported(app, None, made)}
    assert found == {
        "annotation argocd.argoproj.io/skip-reconsile": (
            "it knows no such annotation; did you mean argocd.argoproj.io/skip-reconcile?"
        ),
        "annotation argocd.argoproj.io/sync-vawe of ConfigMap a, ConfigMap b": (
            "it knows no such annotation; did you mean argocd.argoproj.io/sync-wave?"
        ),
        "annotation argocd.argoproj.io/managed-by-url of ConfigMap a, ConfigMap b": (
            "it belongs to an Application"
        ),
    }
    assert not any(one.harmful for one in unsupported(app, None, made))
