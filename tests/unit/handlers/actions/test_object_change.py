"""What an action or an edit may change, and what it may not."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.actions.action import ActionChange, ActionChangeKind, ActionError, changes_of, created
from handlers.actions.object_change import object_change
from handlers.control_plane.governance import GOVERNED

LIVE: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "uid": "1", "annotations": {"a": "b"}},
    "spec": {"replicas": 1},
}
APPLICATION = {**LIVE, "apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "run"}}


def scope(group: str, kind: str) -> bool | None:
    return {"Job": True, "Application": True, "ClusterRole": False}.get(kind)


def changed(*changes: ActionChange, live: dict[str, Any] = LIVE) -> Any:
    return object_change(live, changes, scope)


def test_a_patch_that_changes_nothing_is_none() -> None:
    change = changed(*changes_of({"spec": {"replicas": 1, "paused": None}}))

    assert not change
    assert change.after == LIVE


def test_patches_follow_each_other() -> None:
    one = ActionChange(kind=ActionChangeKind.PATCH, content={"spec": {"replicas": 2}})
    other = ActionChange(kind=ActionChangeKind.PATCH, content={"spec": {"paused": True}})

    assert changed(one, other).after["spec"] == {"replicas": 2, "paused": True}


@pytest.mark.parametrize(
    "patch",
    [
        {"kind": "StatefulSet"},
        {"apiVersion": "apps/v2"},
        {"metadata": None},
        {"metadata": {"name": "other"}},
        {"metadata": {"namespace": "other"}},
        {"metadata": {"ownerReferences": []}},
        {"metadata": {"uid": "2"}},
        {"metadata": {"annotations": None}},
        {"metadata": {"labels": None}},
        {"metadata": {"annotations": {"argocd.argoproj.io/tracking-id": "other:/Pod:a/b"}}},
        {"metadata": {"annotations": {"argocd.argoproj.io/installation-id": "other"}}},
    ],
    ids=str,
)
def test_no_change_makes_another_object_of_it(patch: dict[str, Any]) -> None:
    with pytest.raises(ActionError, match="the change"):
        changed(*changes_of(patch))


def test_a_label_that_tracks_the_object_stays() -> None:
    change = changes_of({"metadata": {"labels": {"app": "other"}}})

    with pytest.raises(ActionError, match="touches app"):
        object_change(LIVE, change, scope, tracking_label="app")
    assert object_change(LIVE, change, scope)


def test_a_new_object_is_made_beside_its_source() -> None:
    (made,) = changed(*created(JOB)).creates

    assert made["metadata"] == {"name": "run", "namespace": "shop"}


def test_a_new_object_without_a_namespace_gets_none() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    (made,) = changed(*created({**role, "metadata": {"name": "all", "namespace": "x"}})).creates

    assert made["metadata"] == {"name": "all"}


@pytest.mark.parametrize(
    "manifest",
    [
        {"apiVersion": "v1"},
        {"kind": "Job", "metadata": {"name": "a"}},
        {"apiVersion": "batch/v1", "kind": "Job"},
        {"apiVersion": "x/v1", "kind": "Unknown", "metadata": {"name": "a"}},
    ],
    ids=["no kind", "no version", "no name", "not served"],
)
def test_a_new_object_has_a_kind_and_a_name(manifest: dict[str, Any]) -> None:
    with pytest.raises(ActionError, match="the action creates"):
        changed(*created(manifest))


def test_an_application_that_the_link_changes_or_makes_is_marked() -> None:
    removed = {"metadata": {"annotations": {GOVERNED: None}}, "spec": {"paused": True}}
    change = changed(*changes_of(removed), *created(APPLICATION), live=APPLICATION)

    assert change.after["metadata"]["annotations"].keys() == {"a", GOVERNED}
    assert GOVERNED in change.creates[0]["metadata"]["annotations"]
