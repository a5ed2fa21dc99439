"""Where the fields of a manager stand in both sides of a pair."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.comparison.managed_paths import managed_paths


def deployment(replicas: int, *containers: dict[str, Any]) -> dict[str, Any]:
    spec = {"replicas": replicas, "template": {"spec": {"containers": list(containers)}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}, "spec": spec}


def container(name: str, image: str = "i:1", **more: Any) -> dict[str, Any]:
    return {"name": name, "image": image, **more}


def in_pod(entry: str, fields: dict[str, Any]) -> dict[str, Any]:
    listed = {"f:containers": {f'k:{{"name":"{entry}"}}': fields}}
    return {"f:spec": {"f:template": {"f:spec": listed}}}


CONTAINERS = ("spec", "template", "spec", "containers")
IMAGE = {".": {}, "f:name": {}, "f:image": {}}
PORT = {"f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {"f:hostPort": {}}}}
PORTS = [{"containerPort": 80, "hostPort": 1}]

CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], list[Any], list[Any]]] = {
    "a field": (
        {"f:spec": {"f:replicas": {}}},
        deployment(1),
        deployment(3),
        [("spec", "replicas")],
        [("spec", "replicas")],
    ),
    "an entry at another index, without its merge key": (
        in_pod("b", IMAGE),
        deployment(1, container("b")),
        deployment(1, container("a"), container("b")),
        [(*CONTAINERS, 0, "image")],
        [(*CONTAINERS, 1, "image")],
    ),
    "an entry that only the cluster has": (
        in_pod("b", IMAGE),
        deployment(1, container("a")),
        deployment(1, container("a"), container("b")),
        [],
        [(*CONTAINERS, 1)],
    ),
    "an entry whose merge key Git leaves to its default": (
        in_pod("a", PORT),
        deployment(1, container("a", ports=PORTS)),
        deployment(1, container("a", ports=[{**PORTS[0], "protocol": "TCP"}])),
        [(*CONTAINERS, 0, "ports", 0, "hostPort")],
        [(*CONTAINERS, 0, "ports", 0, "hostPort")],
    ),
    "a member of a set": (
        {"f:metadata": {"f:finalizers": {".": {}, 'v:"b"': {}}}},
        {**deployment(1), "metadata": {"finalizers": ["a"]}},
        {**deployment(1), "metadata": {"finalizers": ["a", "b"]}},
        [],
        [("metadata", "finalizers", 1)],
    ),
    "the mere existence of a map": (
        {"f:metadata": {"f:labels": {".": {}}}},
        {**deployment(1), "metadata": {"labels": {"a": "b"}}},
        {**deployment(1), "metadata": {"labels": {"a": "c"}}},
        [],
        [],
    ),
}


@pytest.mark.parametrize(("fields", "desired", "live", "left", "right"), CASES.values(), ids=CASES)
def test_fields_of_a_manager_are_found_in_both_sides(
    fields: dict[str, Any],
    desired: dict[str, Any],
    live: dict[str, Any],
    left: list[Any],
    right: list[Any],
) -> None:
    found = managed_paths(fields, desired, live)
    assert [list(side) for side in found] == [left, right]
