"""Whose fields become ours, and whose stay theirs."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.comparison.earlier_managers import inherited_fields, taken_over

IMAGE = {"f:spec": {"f:image": {}}}
REPLICAS = {"f:spec": {"f:replicas": {}}}
BOTH = {"f:spec": {"f:image": {}, "f:replicas": {}}}


def entry(manager: str, fields: dict[str, Any], operation: str = "Update", **more: str) -> Any:
    entry = {"manager": manager, "operation": operation, "apiVersion": "apps/v1"}
    return {**entry, "fieldsType": "FieldsV1", "fieldsV1": fields, **more}


def ours(fields: dict[str, Any]) -> Any:
    return entry("argocd-controller", fields, "Apply")


def live(*entries: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"managedFields": [*entries]},
    }


def owners(entries: Any) -> dict[tuple[str, str], Any]:
    return {(one["manager"], one["operation"]): one["fieldsV1"] for one in entries}


APPLIERS = [
    ("kubectl-client-side-apply", "Update"),
    ("argocd-controller", "Update"),
    ("helm", "Update"),
    ("helm", "Apply"),
]


@pytest.mark.parametrize(("manager", "operation"), APPLIERS)
def test_all_that_an_earlier_applier_owns_becomes_ours(manager: str, operation: str) -> None:
    found = live(entry(manager, BOTH, operation), ours(IMAGE))

    assert inherited_fields(found) == BOTH
    assert taken_over(found) == [ours(BOTH)]


OTHERS = {
    "an autoscaler": entry("kube-controller-manager", REPLICAS, subresource="scale"),
    "kubectl scale": entry("kubectl", REPLICAS, subresource="scale"),
    "the status of the object": entry("kubectl-client-side-apply", BOTH, subresource="status"),
    "a controller": entry("kube-controller-manager", BOTH),
    "another who applies": entry("istio", BOTH, "Apply"),
    "kubectl apply on the server's side": entry("kubectl", BOTH, "Apply"),
    "another version of the kind": entry(
        "kubectl-client-side-apply", BOTH, apiVersion="extensions/v1beta1"
    ),
    "an editor of what Git does not have": entry("kubectl-edit", REPLICAS),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_the_fields_of_others_stay_theirs(other: Any) -> None:
    found = live(other, ours(IMAGE))

    assert inherited_fields(found) == {}
    assert taken_over(found) is None


@pytest.mark.parametrize("manager", ["kubectl-create", "kubectl-edit", "kubectl", "kubectl-patch"])
def test_an_editor_loses_what_git_says_and_keeps_the_rest(manager: str) -> None:
    found = live(entry(manager, BOTH), ours(IMAGE))

    assert inherited_fields(found) == {}
    after = owners(taken_over(found))
    assert after == {(manager, "Update"): REPLICAS, ("argocd-controller", "Apply"): IMAGE}


def test_helms_notes_of_its_release_stay_helms() -> None:
    notes = {"f:metadata": {"f:annotations": {"f:meta.helm.sh/release-name": {}}}}
    found = live(entry("helm", {**notes, **BOTH}), ours(IMAGE))

    assert inherited_fields(found) == BOTH
    assert owners(taken_over(found)) == {
        ("helm", "Update"): notes,
        ("argocd-controller", "Apply"): BOTH,
    }


def test_the_note_of_client_side_apply_is_no_field_that_git_dropped() -> None:
    note = {"f:annotations": {"f:kubectl.kubernetes.io/last-applied-configuration": {}}}
    found = live(entry("kubectl-client-side-apply", {"f:metadata": note}), ours(IMAGE))

    assert inherited_fields(found) == {}
    assert owners(taken_over(found)) == {
        ("argocd-controller", "Apply"): {"f:metadata": note, **IMAGE}
    }


def test_nothing_is_taken_over_twice_or_before_we_applied() -> None:
    assert taken_over(live(entry("helm", BOTH))) is None
    assert taken_over(live(*(taken_over(live(entry("helm", BOTH), ours(IMAGE))) or ()))) is None
