"""Fields of an earlier tool that Git does not have."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agent.kube.summary import summarise
from bus.status import SyncStatus
from handlers.comparison.desired_objects import desired_of
from handlers.comparison.drift_summary import compare
from handlers.comparison.earlier_leftovers import left_over
from handlers.comparison.resource_state import PairOptions
from handlers.manifest.access import key
from handlers.manifest.tracking import stamp

PORT = 'k:{"containerPort":80,"protocol":"TCP"}'
WEB = 'k:{"name":"web"}'
CONTAINERS = ("f:spec", "f:template", "f:spec", "f:containers")


def owned(*path: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for token in reversed(path):
        fields = {token: fields}
    return fields


def deployment(container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    pod = {"containers": [{"name": "web", **container}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "n"},
        "spec": {"template": {"spec": pod}, **spec},
    }


LIVE = deployment({"ports": [{"containerPort": 80, "protocol": "TCP"}], "tty": True}, paused=True)
LEFT = {
    "a field": (owned("f:spec", "f:paused"), {}, ["spec.paused"]),
    "a field of an entry": (
        owned(*CONTAINERS, WEB, "f:tty"),
        {},
        ["spec.template.spec.containers[name=web].tty"],
    ),
    "an entry": (
        owned(*CONTAINERS, WEB, "f:ports", PORT),
        {},
        ["spec.template.spec.containers[name=web].ports[containerPort=80,protocol=TCP]"],
    ),
    "an entry that Git has, with a default of its key": (
        owned(*CONTAINERS, WEB, "f:ports", PORT, "f:protocol"),
        {"ports": [{"containerPort": 80}]},
        [],
    ),
    "what is gone already": (owned("f:spec", "f:minReadySeconds"), {}, []),
    "the status": (owned("f:status", "f:replicas"), {}, []),
}


@pytest.mark.parametrize(("inherited", "container", "paths"), LEFT.values(), ids=LEFT)
def test_what_an_earlier_tool_wrote_and_git_lacks(
    inherited: dict[str, Any], container: dict[str, Any], paths: list[str]
) -> None:
    found = left_over(deployment(container), LIVE, inherited)

    assert [one.path for one in found] == paths


def test_a_value_of_a_secret_is_masked() -> None:
    live = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "data": {"a": "c2VjcmV0"},
    }
    (found,) = left_over({**live, "data": {}}, live, owned("f:data", "f:a"))

    assert "c2VjcmV0" not in str(found)


def config(**data: str) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "n"}
    return stamp(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}, "shop"
    )


@pytest.mark.parametrize(
    ("manager", "takes_over", "status"),
    [
        ("kubectl-client-side-apply", True, SyncStatus.OUT_OF_SYNC),
        ("kubectl-client-side-apply", False, SyncStatus.SYNCED),
        ("some-controller", True, SyncStatus.SYNCED),
    ],
)
def test_an_application_is_out_of_sync_while_such_a_field_stays(
    *, manager: str, takes_over: bool, status: SyncStatus
) -> None:
    live = config(kept="1", dropped="2")
    live["metadata"]["managedFields"] = [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "fieldsV1": {"f:data": {".": {}, "f:kept": {}, "f:dropped": {}}},
        }
    ]
    found = {key(live): summarise(msgspec.json.encode(live))}
    comparison = compare(
        desired_of([config(kept="1")]), found, "shop", options=PairOptions(takes_over=takes_over)
    )

    assert comparison.status is status
    assert comparison.doubtful == ()
