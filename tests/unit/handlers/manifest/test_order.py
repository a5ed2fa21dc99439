"""Waves and the order of kinds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.manifest.order import KIND_ORDER, in_apply_order, kind_rank, wave


def manifest(kind: str, name: str = "x", **annotations: str) -> dict[str, object]:
    return {"kind": kind, "metadata": {"name": name, "annotations": annotations}}


def names(manifests: tuple[object, ...]) -> list[str]:
    return [f"{m['kind']}/{m['metadata']['name']}" for m in manifests]  # type: ignore[index]


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, 0),
        ({"argocd.argoproj.io/sync-wave": "-3"}, -3),
        ({"helm.sh/hook-weight": "5"}, 5),
        ({"argocd.argoproj.io/sync-wave": "1", "helm.sh/hook-weight": "5"}, 1),
        ({"argocd.argoproj.io/sync-wave": "soon", "helm.sh/hook-weight": "5"}, 5),
        ({"argocd.argoproj.io/sync-wave": "soon"}, 0),
    ],
    ids=["none", "wave", "weight", "wave wins", "invalid falls back", "invalid is 0"],
)
def test_wave_of_a_manifest(annotations: dict[str, str], expected: int) -> None:
    assert wave(manifest("Pod", **annotations)) == expected


def test_namespaces_come_first_and_unknown_kinds_last() -> None:
    assert kind_rank("Namespace") == 0
    assert kind_rank("Rollout") > kind_rank("APIService") == len(KIND_ORDER) - 1


def test_wave_beats_kind_and_kind_beats_name() -> None:
    objects = [
        manifest("Deployment", "a"),
        manifest("Namespace", "late", **{"argocd.argoproj.io/sync-wave": "1"}),
        manifest("Service", "z"),
        manifest("Service", "b"),
    ]
    assert names(in_apply_order(objects)) == [
        "Service/b",
        "Service/z",
        "Deployment/a",
        "Namespace/late",
    ]


@given(st.permutations([manifest(kind, name) for kind in ("Pod", "Role", "X") for name in "ab"]))
def test_any_order_of_input_is_applied_alike(objects: list[dict[str, object]]) -> None:
    applied = names(in_apply_order(objects))
    assert applied == ["Role/a", "Role/b", "Pod/a", "Pod/b", "X/a", "X/b"]
