"""Whose an object is."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.identity import AppKey
from handlers.manifest import tracking
from handlers.manifest.tracking import TRACKING_ID, TrackingId

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "annotations": {"kept": "yes"}},
}
ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "r"},
}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
}
word = st.text("abc-.", min_size=1)


@given(word, st.text("abc."), word, st.text("abc-"), st.text("abc:.", min_size=1))
def test_parse_reads_what_str_wrote(app: str, group: str, kind: str, space: str, name: str) -> None:
    tracking = TrackingId(app, group, kind, space, name)
    assert TrackingId.parse(str(tracking)) == tracking


@pytest.mark.parametrize(
    "written", ["", "app", "app:apps/Deployment", "app:apps:ns/x", "a:g/k:x", ":g/k:n/x"]
)
def test_nonsense_is_no_tracking_id(written: str) -> None:
    assert TrackingId.parse(written) is None


@pytest.mark.parametrize(
    ("app", "identity"),
    [(AppKey("argocd", "shop"), "shop"), (AppKey("team", "shop"), "team_shop")],
    ids=["control namespace", "elsewhere"],
)
def test_identity_of_an_application_reads_back(app: AppKey, identity: str) -> None:
    assert tracking.app_identity(app, "argocd") == identity
    assert tracking.app_of(identity, "argocd") == app


def test_stamp_has_argo_cds_form_and_leaves_its_input_alone() -> None:
    before = copy.deepcopy(DEPLOYMENT)
    stamped = tracking.stamp(DEPLOYMENT, "shop", "ignored")
    assert stamped["metadata"]["annotations"] == {
        "kept": "yes",
        TRACKING_ID: "shop:apps/Deployment:shop/web",
    }
    assert before == DEPLOYMENT


def test_cluster_scoped_object_carries_the_destination_and_is_self_referenced() -> None:
    stamped = tracking.stamp(ROLE, "shop", "dest")
    assert stamped["metadata"]["annotations"][TRACKING_ID].endswith(":dest/r")
    assert tracking.self_referenced(stamped)


def test_definitions_are_not_stamped() -> None:
    assert tracking.stamp(CRD, "shop") == CRD


def test_copied_annotation_is_not_self_referenced() -> None:
    stamped = tracking.stamp(DEPLOYMENT, "shop")
    copied = {**stamped, "kind": "ReplicaSet"}
    elsewhere = {**stamped, "metadata": {**stamped["metadata"], "namespace": "other"}}
    assert tracking.self_referenced(stamped)
    assert not tracking.self_referenced(copied)
    assert not tracking.self_referenced(elsewhere)


def test_ingress_of_the_old_group_still_belongs() -> None:
    old = {
        "apiVersion": "extensions/v1beta1",
        "kind": "Ingress",
        "metadata": {"name": "i", "namespace": "n"},
    }
    moved = {**tracking.stamp(old, "shop"), "apiVersion": "networking.k8s.io/v1"}
    assert tracking.self_referenced(moved)
