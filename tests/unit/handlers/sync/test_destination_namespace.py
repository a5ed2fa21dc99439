"""The Namespace of the destination: made once, and given its metadata at each sync."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from bus.identity import ResourceKey
from handlers.application.namespace_marks import left_out_marks
from handlers.application.policy import namespace_differs, namespace_metadata, sync_options_of_app
from handlers.application.spec import ManagedNamespaceMetadata
from handlers.manifest.options import parse_sync_options
from handlers.manifest.tracking import TRACKING_ID, stamp
from handlers.manifest.tracking_method import (
    INSTALLATION_ID,
    INSTANCE_LABEL,
    Tracking,
    TrackingMethod,
)
from handlers.ports import LiveObject
from handlers.sync.destination_namespace import (
    DestinationNamespace,
    destination_namespace,
    namespace_key,
    namespace_task,
    namespace_work,
    sets_pod_security,
)
from handlers.sync.sync_plan import SyncPhase
from tests.unit.handlers.application.builders import application
from tests.unit.handlers.sync.builders import comparison, manifest

CREATING = parse_sync_options(["CreateNamespace=true"])
WANTED = ManagedNamespaceMetadata(labels={"team": "shop"}, annotations={"owner": "ann"})
SEEN = comparison((manifest("a"),))


def namespace(**parts: Any) -> LiveObject:
    whole = {"key": namespace_key("shop"), "version": "v1", "uid": "u", "resource_version": "1"}
    return LiveObject(**(whole | parts))


def space(**parts: Any) -> DestinationNamespace:
    return DestinationNamespace(name="shop", **parts)


def test_a_missing_namespace_is_created_before_everything() -> None:
    (task,) = namespace_task(space(), SEEN, CREATING)
    assert (task.phase, task.manifest["metadata"]) == (SyncPhase.PRE_SYNC, {"name": "shop"})


@pytest.mark.parametrize(
    "present",
    [
        space(live=namespace()),
        space(may_write=False, metadata=WANTED),
        DestinationNamespace(name="", metadata=WANTED),
    ],
    ids=["it is there", "the policy forbids it", "no namespace"],
)
def test_a_namespace_is_left_alone(present: DestinationNamespace) -> None:
    assert not list(namespace_task(present, SEEN, CREATING))


def test_nothing_is_done_without_the_option() -> None:
    assert not list(namespace_task(space(metadata=WANTED), SEEN, parse_sync_options([])))


def test_a_namespace_in_git_has_its_metadata_there() -> None:
    written = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    seen = comparison((written,))
    assert not list(namespace_task(space(metadata=WANTED), seen, CREATING))


@pytest.mark.parametrize("live", [None, namespace()], ids=["missing", "there"])
def test_the_metadata_is_applied_whether_or_not_the_namespace_is_there(
    live: LiveObject | None,
) -> None:
    (task,) = namespace_task(space(live=live, metadata=WANTED), SEEN, CREATING)
    labels, notes = {"team": "shop"}, {"owner": "ann"}
    expected = {"name": "shop", "labels": labels, "annotations": notes}
    assert task.manifest["metadata"] == expected


def test_the_namespace_of_another_application_is_left_as_it_is_and_the_result_says_so() -> None:
    written = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    body = msgspec.json.encode(stamp(written, "base"))
    live = namespace(body=body, tracking="base:/Namespace:shop/shop")
    work = namespace_work(space(live=live, metadata=WANTED), SEEN, CREATING)
    assert work.tasks == ()
    (left,) = work.settled
    assert "part of the application 'base'" in left.message


def spec(**labels: str) -> dict[str, Any]:
    options = ["CreateNamespace=true"]
    return {"syncPolicy": {"syncOptions": options, "managedNamespaceMetadata": {"labels": labels}}}


def applied(**labels: str) -> dict[str, Any]:
    result = {"revision": "a", "managedNamespaceMetadata": {"labels": labels}}
    return {"operationState": {"syncResult": result}}


def test_the_application_is_out_of_sync_while_the_metadata_is_another_than_applied() -> None:
    assert namespace_differs(application(spec(team="shop"), status=applied(team="other")))
    assert not namespace_differs(application(spec(team="shop"), status=applied(team="shop")))
    assert not namespace_differs(application(spec(team="shop")))


def test_the_metadata_has_no_effect_without_create_namespace() -> None:
    policy = {"managedNamespaceMetadata": {"labels": {"team": "shop"}}}
    app = application({"syncPolicy": policy}, status=applied(team="other"))
    assert namespace_metadata(app, sync_options_of_app(app)) is None
    assert not namespace_differs(app)


def test_metadata_that_is_denied_fails_the_sync_before_anything_is_written() -> None:
    work = namespace_work(space(metadata=WANTED, denied="not here"), SEEN, CREATING)
    (settled,) = work.settled
    assert (work.tasks, settled.status, settled.message) == ((), "SyncFailed", "not here")


def test_what_others_hold_of_the_namespace_stays_theirs() -> None:
    (task,) = namespace_task(space(live=namespace(), metadata=WANTED), SEEN, CREATING)
    assert task.yields


ID = "platform:/Namespace:shop/shop"
OF_ANOTHER: dict[str, Any] = {
    "labels": {INSTANCE_LABEL: "platform", "mine": "platform", "team": "shop"},
    "annotations": {TRACKING_ID: ID, INSTALLATION_ID: "here", "owner": "ann"},
}


class NoNamespace:
    """The part of a LiveState that finds no object."""

    def get(self, key: ResourceKey) -> None:
        return None


@pytest.mark.parametrize(
    ("tracking", "labels"),
    [
        (Tracking(method=TrackingMethod.LABEL), {"mine", "team"}),
        (Tracking(method=TrackingMethod.LABEL, label_key="mine"), {INSTANCE_LABEL, "team"}),
        (Tracking(method=TrackingMethod.BOTH, is_chosen=True), {"mine", "team"}),
        (Tracking(installation_id="here"), {INSTANCE_LABEL, "mine", "team"}),
    ],
    ids=["label", "label key", "both", "annotation"],
)
def test_nobody_gives_the_namespace_to_another_application(
    tracking: Tracking, labels: set[str]
) -> None:
    options = ["CreateNamespace=true"]
    policy = {"syncOptions": options, "managedNamespaceMetadata": OF_ANOTHER}
    app = application({"syncPolicy": policy, "destination": {"namespace": "shop"}})
    found = destination_namespace(
        app, CREATING, cast("Any", NoNamespace()), may_write=True, tracking=tracking
    )
    (task,) = namespace_task(found, SEEN, CREATING)
    metadata = task.manifest["metadata"]
    assert (metadata["labels"].keys(), metadata["annotations"]) == (labels, {"owner": "ann"})

    messages = " ".join(one.message for one in left_out_marks(app, tracking))
    left_out = {*OF_ANOTHER["labels"], *OF_ANOTHER["annotations"]} - labels - {"owner"}
    assert all(key in messages for key in left_out)
    assert len(list(left_out_marks(app, tracking))) == len(left_out)


@pytest.mark.parametrize(
    ("label", "decides"), [("pod-security.kubernetes.io/warn", True), ("team", False)]
)
def test_labels_of_pod_security_are_known(label: str, decides: bool) -> None:  # noqa: FBT001  a table
    assert sets_pod_security(ManagedNamespaceMetadata(labels={label: "x"})) is decides
    assert not sets_pod_security(ManagedNamespaceMetadata(annotations={label: "x"}))
