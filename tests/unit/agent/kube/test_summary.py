from __future__ import annotations

from typing import Any

import orjson
import pytest

from agent.kube.summary import summarise
from bus.identity import ResourceKey
from bus.status import HealthStatus
from tests.unit.agent.kube.object_samples import config_map, live

OURS = {
    "manager": "argocd-controller",
    "operation": "Apply",
    "fieldsV1": {"f:data": {"f:colour": {}}},
}


def of(manifest: dict[str, Any]) -> Any:
    return summarise(orjson.dumps(manifest))


def with_metadata(**words: Any) -> dict[str, Any]:
    manifest = config_map()
    return {**manifest, "metadata": {**manifest["metadata"], **words}}


def test_identity_is_read_from_the_object() -> None:
    summary = live("settings", version=7, owner="uid-node")

    assert summary.key == ResourceKey("", "ConfigMap", "web", "settings")
    assert (summary.uid, summary.resource_version) == ("uid-settings", "7")
    assert summary.owners == ("uid-node",)


def test_items_of_a_list_get_the_kind_of_the_list() -> None:
    item = config_map()
    del item["apiVersion"], item["kind"]

    summary = summarise(orjson.dumps(item), api_version="v1", kind="ConfigMap")

    assert summary == live()


def test_the_body_of_what_nobody_tracks_is_not_kept() -> None:
    summary = live(app="")

    assert (summary.body, summary.fingerprint, summary.owned) == (b"", "", b"")


def test_a_copied_tracking_annotation_does_not_make_an_object_tracked() -> None:
    copied = config_map("other")
    copied["metadata"]["annotations"] = config_map("settings")["metadata"]["annotations"]

    assert of(copied).body == b""


def test_definitions_are_kept_whole_although_nobody_tracks_them() -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "toys.example.com"},
    }

    assert of(definition).manifest == definition


def test_managed_fields_are_dropped_but_for_our_own() -> None:
    other = {**OURS, "manager": "kubectl"}
    status = {**OURS, "subresource": "status", "fieldsV1": {}}

    summary = of(with_metadata(managedFields=[other, status, OURS]))

    assert "managedFields" not in summary.manifest["metadata"]
    assert orjson.loads(summary.owned) == OURS["fieldsV1"]


@pytest.mark.parametrize(
    "words",
    [
        {"resourceVersion": "99"},
        {"generation": 4},
        {"managedFields": [OURS]},
        {"creationTimestamp": "2027-01-01T00:00:00Z"},
        {"deletionTimestamp": "2027-01-01T00:00:00Z"},
    ],
    ids=lambda words: next(iter(words)),
)
def test_what_nobody_wrote_does_not_change_the_fingerprint(words: dict[str, Any]) -> None:
    assert of(with_metadata(**words)).fingerprint == live().fingerprint


def test_status_does_not_change_the_fingerprint() -> None:
    assert of({**config_map(), "status": {"phase": "x"}}).fingerprint == live().fingerprint


@pytest.mark.parametrize(
    "manifest",
    [config_map(data={"colour": "red"}), with_metadata(labels={"a": "b"})],
    ids=["data", "labels"],
)
def test_content_changes_the_fingerprint(manifest: dict[str, Any]) -> None:
    assert of(manifest).fingerprint != live().fingerprint


def test_the_order_of_fields_does_not_change_the_fingerprint() -> None:
    turned = dict(reversed(config_map().items()))

    assert of(turned).fingerprint == live().fingerprint


def test_health_is_part_of_the_summary() -> None:
    deleted = of(with_metadata(deletionTimestamp="2027-01-01T00:00:00Z"))

    assert live().health is None
    assert deleted.deleting
    assert (deleted.health, deleted.health_message) == (
        HealthStatus.PROGRESSING,
        "Pending deletion",
    )


def test_a_long_message_of_health_is_cut() -> None:
    condition = {"type": "Ready", "status": "False", "message": "x" * 100_000}
    store = {"apiVersion": "external-secrets.io/v1", "kind": "SecretStore"}
    kept = of({**config_map(), **store, "status": {"conditions": [condition]}})

    assert kept.health is HealthStatus.DEGRADED
    assert kept.health_message == "x" * 1024


def entry(manager: str, time: str, **words: str) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": {}, **words}


WRITERS = {
    "nobody but us": ([{**OURS, "time": "2026-01-01T10:00:00Z"}], ""),
    "somebody after us": (
        [{**OURS, "time": "2026-01-01T10:00:00Z"}, entry("kubectl-edit", "2026-01-01T11:00:00Z")],
        "kubectl-edit",
    ),
    "we came later": (
        [{**OURS, "time": "2026-01-01T10:00:00Z"}, entry("helm", "2026-01-01T09:00:00Z")],
        "",
    ),
    "only of its status": (
        [
            {**OURS, "time": "2026-01-01T10:00:00Z"},
            entry("kube-controller-manager", "2026-01-01T11:00:00Z", subresource="status"),
        ],
        "",
    ),
    "scaled, whose time the API server does not note": (
        [
            {**OURS, "time": "2026-01-01T10:00:00Z"},
            entry("helm", "2026-01-01T09:00:00Z"),
            entry("kubectl", "", subresource="scale"),
        ],
        "kubectl",
    ),
    "scaled": (
        [
            {**OURS, "time": "2026-01-01T10:00:00Z"},
            entry("kubectl", "2026-01-01T11:00:00Z", subresource="scale"),
        ],
        "kubectl",
    ),
}


@pytest.mark.parametrize(("fields", "writer"), WRITERS.values(), ids=WRITERS)
def test_who_wrote_after_us_is_kept(fields: list[dict[str, Any]], writer: str) -> None:
    assert of(with_metadata(managedFields=fields)).written_by == writer
