"""What is not acted on is reported, and holds automated syncs where that could do harm."""

from __future__ import annotations

from typing import Any

import pytest

from bus.status import ConditionType
from handlers.application.unsupported import Unsupported, conditions_of, unsupported
from handlers.application.validate import problems
from tests.application.build import REPO, SERVER, application, project

SOURCE = {"repoURL": REPO, "path": "web"}
HEALING = {"automated": {"selfHeal": True}}
IGNORED = {"ignoreDifferences": [{"kind": "Pod"}]}

SPECS: dict[str, tuple[dict[str, Any], str]] = {
    "ignoreDifferences": (IGNORED, "spec.ignoreDifferences"),
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
    (condition,) = conditions_of(app, (found,))
    assert condition.type == ConditionType.UNSUPPORTED_FIELD_WARNING
    assert field in condition.message
    assert problems(app, project()) == ()


HARMFUL: dict[str, dict[str, Any]] = {
    "what is ignored is healed": IGNORED | {"syncPolicy": HEALING},
    "what is ignored is respected": IGNORED
    | {"syncPolicy": {"automated": {}, "syncOptions": ["RespectIgnoreDifferences=true"]}},
    "a namespace without its labels": {
        "syncPolicy": {
            "automated": {},
            "syncOptions": ["CreateNamespace=true"],
            "managedNamespaceMetadata": {"labels": {"a": "b"}},
        }
    },
    "a shared object": {
        "syncPolicy": {"automated": {}, "syncOptions": ["FailOnSharedResource=true"]}
    },
}


@pytest.mark.parametrize("spec", HARMFUL.values(), ids=HARMFUL)
def test_a_field_whose_neglect_could_do_harm_holds_automated_syncs(spec: dict[str, Any]) -> None:
    app = application(spec)
    held = [one for one in unsupported(app, project()) if one.harmful]
    assert {one.type for one in conditions_of(app, held)} == {ConditionType.AUTO_SYNC_HELD_WARNING}
    assert all("automated sync is held" in one.message for one in held)


def test_nothing_is_held_where_people_start_the_syncs() -> None:
    found = (Unsupported(field="x", consequence="y", harmful=True),)
    (condition,) = conditions_of(application(), found)
    assert condition.type == ConditionType.UNSUPPORTED_FIELD_WARNING


def test_ignored_differences_without_self_heal_hold_nothing() -> None:
    (found,) = unsupported(application(IGNORED | {"syncPolicy": {"automated": {}}}), project())
    assert not found.harmful


@pytest.mark.parametrize("option", ["CreateNamespace=true", "PruneLast=true", "Replace=true"])
def test_an_option_with_effect_is_not_reported(option: str) -> None:
    assert unsupported(application({"syncPolicy": {"syncOptions": [option]}}), project()) == ()


def test_windows_and_orphans_of_the_project_are_reported() -> None:
    rules = {
        "syncWindows": [{"kind": "deny", "applications": ["*"]}],
        "orphanedResources": {},
    }
    windows, orphans = unsupported(application(), project(rules))
    assert (windows.harmful, orphans.harmful) == (True, False)


def manifest(name: str, **annotations: str) -> dict[str, Any]:
    notes = {f"argocd.argoproj.io/{key.replace('_', '-')}": v for key, v in annotations.items()}
    return {"kind": "Job", "metadata": {"name": name, "annotations": notes}}


def test_hooks_are_named_and_hold() -> None:
    written = [manifest("migrate", hook="PreSync"), manifest("plain")]
    (found,) = unsupported(application(), project(), written)
    assert found.harmful
    assert "Job migrate" in found.message
    assert "plain" not in found.message


def test_hooks_of_the_deletion_are_reported_and_hold_no_sync() -> None:
    (found,) = unsupported(application(), project(), [manifest("clean", hook="PostDelete")])
    assert not found.harmful


@pytest.mark.parametrize("hook", ["Skip"])
def test_an_object_that_is_set_aside_is_not_reported(hook: str) -> None:
    assert unsupported(application(), project(), [manifest("test", hook=hook)]) == ()


OBJECT_OPTIONS = {
    "force": ("Force=true", "immutable"),
    "confirm": ("Delete=confirm", "never deleted"),
    "unknown": ("Prune=maybe", "not known"),
    "of applications only": ("CreateNamespace=true", "no meaning for one object"),
}


@pytest.mark.parametrize(("option", "said"), OBJECT_OPTIONS.values(), ids=OBJECT_OPTIONS)
def test_an_option_of_an_object_is_reported_with_its_bearers(option: str, said: str) -> None:
    bearers = [manifest("a", sync_options=option), manifest("b", sync_options=option)]
    (found,) = unsupported(application(), project(), bearers)
    assert option in found.message
    assert "Job a, Job b" in found.message
    assert said in found.message


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


PROTECTING: dict[str, tuple[dict[str, Any], str]] = {
    "signatures": ({"signatureKeys": [{"keyID": "4AEE18F83AFDEB23"}]}, "signed"),
    "integrity": ({"sourceIntegrity": {"git": {"policies": [{}]}}}, "sourceIntegrity"),
    "service accounts": (
        {
            "destinationServiceAccounts": [
                {"server": SERVER, "namespace": "sh*", "defaultServiceAccount": "deployer"}
            ]
        },
        "destinationServiceAccounts",
    ),
    "own clusters": ({"permitOnlyProjectScopedClusters": True}, "permitOnlyProjectScopedClusters"),
}


@pytest.mark.parametrize(("rules", "said"), PROTECTING.values(), ids=PROTECTING)
def test_a_project_whose_protection_cannot_be_held_blocks(rules: dict[str, Any], said: str) -> None:
    (found,) = problems(application(), project(rules))
    assert found.type == ConditionType.INVALID_SPEC_ERROR
    assert said in found.message


def test_a_service_account_for_another_destination_blocks_nothing() -> None:
    rule = {"server": SERVER, "namespace": "other", "defaultServiceAccount": "deployer"}
    assert problems(application(), project({"destinationServiceAccounts": [rule]})) == ()
