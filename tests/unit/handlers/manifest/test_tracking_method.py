"""How objects are marked, and how the mark of a live object is read, by each tracking method."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.manifest.tracking import TRACKING_ID
from handlers.manifest.tracking_method import (
    INSTALLATION_ID,
    INSTANCE_LABEL,
    Tracking,
    TrackingMethod,
    is_label_key,
)

ANNOTATION = Tracking()
CHOSEN = Tracking(is_chosen=True)
LABEL = Tracking(method=TrackingMethod.LABEL, is_chosen=True)
BOTH = Tracking(method=TrackingMethod.BOTH, is_chosen=True)
OF_SHOP = "shop:/ConfigMap:ns/a"


def config_map(kind: str = "ConfigMap", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": "a", "namespace": "ns", **metadata},
    }


def live(
    *,
    label: str = "",
    note: str = "",
    installation: str = "",
    manager: str = "argocd-controller",
    kind: str = "ConfigMap",
    key: str = INSTANCE_LABEL,
) -> dict[str, Any]:
    notes = {TRACKING_ID: note, INSTALLATION_ID: installation}
    owned = {"f:metadata": {"f:labels": {f"f:{key}": {}}}} if label else {}
    return config_map(
        kind,
        labels={key: label} if label else {},
        annotations={name: one for name, one in notes.items() if one},
        managedFields=[{"manager": manager, "operation": "Apply", "fieldsV1": owned}],
    )


def marks(tracking: Tracking, identity: str = "shop") -> tuple[dict[str, str], dict[str, str]]:
    exported = {TRACKING_ID: "other:/ConfigMap:ns/a", INSTALLATION_ID: "another", "own": "x"}
    written = tracking.stamp(config_map(annotations=exported), identity)["metadata"]
    return written.get("labels", {}), written["annotations"]


@pytest.mark.parametrize(
    ("tracking", "labels", "notes"),
    [
        (ANNOTATION, {}, {TRACKING_ID: OF_SHOP}),
        (LABEL, {INSTANCE_LABEL: "shop"}, {}),
        (BOTH, {INSTANCE_LABEL: "shop"}, {TRACKING_ID: OF_SHOP}),
        (
            Tracking(installation_id="one"),
            {},
            {TRACKING_ID: OF_SHOP, INSTALLATION_ID: "one"},
        ),
    ],
    ids=["annotation", "label", "both", "installation"],
)
def test_each_method_writes_its_marks_over_those_that_git_has(
    tracking: Tracking, labels: dict[str, str], notes: dict[str, str]
) -> None:
    assert marks(tracking) == (labels, {"own": "x", **notes})


def test_a_long_name_is_cut_beside_an_annotation_and_refused_without_one() -> None:
    longest = f"{'a' * 62}--b"
    labels, _ = marks(BOTH, longest)
    assert labels[INSTANCE_LABEL] == "a" * 62
    assert BOTH.problem(longest) == ""
    assert "63" in LABEL.problem(longest)
    assert LABEL.problem("a" * 63) == ""


@pytest.mark.parametrize(
    ("tracking", "there", "read"),
    [
        (ANNOTATION, live(note=OF_SHOP, label="chart"), OF_SHOP),
        (ANNOTATION, live(label="shop"), ""),
        (CHOSEN, live(label="shop"), OF_SHOP),
        (CHOSEN, live(label="shop", manager="kube-controller-manager"), ""),
        (CHOSEN, live(label="shop", kind="Namespace"), ""),
        (BOTH, live(label="shop", note="other:/ConfigMap:ns/a"), "other:/ConfigMap:ns/a"),
        (LABEL, live(label="shop"), OF_SHOP),
        (LABEL, live(label="shop", manager="helm"), ""),
        (LABEL, live(label="chart", note=OF_SHOP), OF_SHOP),
        (LABEL, live(label="shop", note="copied:/Secret:ns/b"), OF_SHOP),
        (LABEL, live(note="copied:/Secret:ns/b"), ""),
    ],
    ids=[
        "annotation beside the label of a chart",
        "label alone, and no method was chosen",
        "label alone, the earlier method",
        "label that a controller copied",
        "label of a Namespace that was only created",
        "another application by annotation",
        "label",
        "label of Helm",
        "annotation, the earlier method",
        "label beside a copied annotation",
        "copied annotation",
    ],
)
def test_the_mark_of_a_live_object_is_read(
    tracking: Tracking, there: dict[str, Any], read: str
) -> None:
    assert tracking.read(there) == read


def test_definitions_are_never_an_applications_by_their_label() -> None:
    definition = live(label="shop", kind="CustomResourceDefinition")
    assert LABEL.read({**definition, "apiVersion": "apiextensions.k8s.io/v1"}) == ""


@pytest.mark.parametrize("written", ["", "two"], ids=["none", "another"])
def test_an_object_without_the_id_of_the_installation_is_of_nobody(written: str) -> None:
    one = Tracking(installation_id="one", is_chosen=True)
    assert one.read(live(note=OF_SHOP, installation="one")) == OF_SHOP
    assert one.read(live(note=OF_SHOP, installation=written)) == ""
    assert one.read(live(label="shop")) == ""


def test_a_label_of_another_key_counts() -> None:
    tracking = Tracking(method=TrackingMethod.LABEL, label_key="example.com/app")
    assert tracking.read(live(label="shop", key="example.com/app")) == OF_SHOP
    assert tracking.read(live(label="shop")) == ""


@pytest.mark.parametrize("tracking", [LABEL, CHOSEN])
def test_whoever_may_have_deployed_an_application_is_named(tracking: Tracking) -> None:
    found = tracking.parents({INSTANCE_LABEL: "root"}, {TRACKING_ID: OF_SHOP})
    assert found == ("shop", "root")
    assert ANNOTATION.parents({INSTANCE_LABEL: "root"}, {}) == ()


@pytest.mark.parametrize(
    ("written", "is_key"),
    [("app", True), ("example.com/app", True), ("a b", False), ("a/b/c", False), ("é", False)],
)
def test_the_key_of_a_label(written: str, *, is_key: bool) -> None:
    assert is_label_key(written) is is_key


def test_the_fingerprint_tells_what_is_written() -> None:
    assert ANNOTATION.fingerprint == CHOSEN.fingerprint == ""
    others = (LABEL, BOTH, Tracking(installation_id="one"), Tracking(installation_id="two"))
    assert len({one.fingerprint for one in others}) == len(others)


@pytest.mark.parametrize(
    ("tracking", "label"),
    [
        (ANNOTATION, ""),
        (CHOSEN, INSTANCE_LABEL),
        (LABEL, INSTANCE_LABEL),
        (BOTH, INSTANCE_LABEL),
        (Tracking(is_chosen=True, installation_id="one"), ""),
        (Tracking(method=TrackingMethod.LABEL, label_key="mine"), "mine"),
    ],
)
def test_a_label_binds_wherever_it_is_read_or_written(tracking: Tracking, label: str) -> None:
    """Whoever removes it would take the object out of its application."""
    assert tracking.binding_label == label
