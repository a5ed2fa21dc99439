"""What a manager has taken from us is known without a question to the server."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson
import pytest

from agent.kube.summary import summarise
from handlers.comparison.object_diff import diff
from handlers.comparison.object_difference import ChangeKind, FieldDifference
from handlers.comparison.taken_fields import all_taken, taken_fields
from handlers.ports import LiveObject

OURS = {"manager": "argocd-controller", "operation": "Apply", "time": "2026-01-01T10:00:00Z"}
THEIRS = {"manager": "kubectl-edit", "operation": "Update", "time": "2026-01-01T11:00:00Z"}
TRACKING = {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:web/web"}
IMAGE = "spec.template.spec.containers[name=web].image"


def deployment(*, replicas: int = 1, image: str = "web:1", **spec: Any) -> dict[str, Any]:
    pods = {"spec": {"containers": [{"name": "web", "image": image}]}}
    metadata = {"name": "web", "namespace": "web", "annotations": TRACKING}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    return {**body, "spec": {"replicas": replicas, "template": pods, **spec}}


def in_container(**fields: Any) -> dict[str, Any]:
    entry = {'k:{"name":"web"}': {".": {}, "f:name": {}, **fields}}
    return {"f:template": {"f:spec": {"f:containers": entry}}}


def live(manifest: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> LiveObject:
    entries = [
        {**OURS, "fieldsV1": {"f:spec": ours}},
        {**THEIRS, "fieldsV1": {"f:spec": theirs}},
    ]
    metadata = {**manifest["metadata"], "uid": "u", "managedFields": entries}
    return summarise(orjson.dumps({**manifest, "metadata": metadata}))


REPLICAS = {"f:replicas": {}}
CASES = {
    "a field that was edited": (
        live(deployment(replicas=3), in_container(**{"f:image": {}}), REPLICAS),
        ("spec.replicas",),
    ),
    "a field of an entry": (
        live(deployment(image="web:2"), REPLICAS, in_container(**{"f:image": {}})),
        (IMAGE,),
    ),
    "a field that both own: the server took both values for one": (
        live(deployment(replicas=3), REPLICAS, REPLICAS),
        (),
    ),
    "a field below one that is ours as a whole": (
        live(deployment(image="web:2"), {"f:template": {}}, in_container(**{"f:image": {}})),
        (),
    ),
    "a field with the same value": (live(deployment(), {"f:template": {}}, REPLICAS), ()),
    "a field that Git does not have": (
        live(deployment(paused=True), REPLICAS, {"f:paused": {}}),
        (),
    ),
}


@pytest.mark.parametrize(("found", "taken"), CASES.values(), ids=CASES)
def test_the_fields_that_were_taken_are_named(found: LiveObject, taken: tuple[str, ...]) -> None:
    assert taken_fields(deployment(), found) == taken


def test_of_an_object_that_was_never_ours_nothing_is_said() -> None:
    found = live(deployment(replicas=3), {}, REPLICAS)
    assert taken_fields(deployment(), msgspec.structs.replace(found, owned=b"")) == ()


def test_of_another_version_nothing_is_said() -> None:
    found = live({**deployment(replicas=3), "apiVersion": "apps/v2"}, {"f:paused": {}}, REPLICAS)
    assert taken_fields(deployment(), found) == ()


def test_the_server_is_asked_where_more_differs_than_was_taken() -> None:
    edited = live(deployment(replicas=3), in_container(**{"f:image": {}}), REPLICAS)
    more = live(deployment(replicas=3, image="x"), in_container(**{"f:image": {}}), REPLICAS)

    assert all_taken(diff(deployment(), edited.manifest).differences, deployment(), edited)
    assert not all_taken(diff(deployment(), more.manifest).differences, deployment(), more)


def test_the_server_is_asked_where_nothing_is_known_to_differ_or_a_field_is_missing() -> None:
    edited = live(deployment(replicas=3), in_container(**{"f:image": {}}), REPLICAS)
    missing = FieldDifference(path="spec.replicas", kind=ChangeKind.MISSING)

    assert not all_taken((), deployment(), edited)
    assert not all_taken((missing,), deployment(), edited)
