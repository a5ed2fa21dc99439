"""The paths at which two versions of a live object differ."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.comparison.changed_fields import changed_fields


def deployment(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    pods = {"spec": {"containers": list(containers)}}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    return {**body, "spec": {"template": pods, **spec}}


def custom(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "a.example/v1", "kind": "A", "metadata": {"name": "a"}, "spec": spec}


WEB, SIDE = {"name": "web", "image": "web:1"}, {"name": "side", "image": "side:1"}
IMAGE = "spec.template.spec.containers[name=web].image"
CASES = [
    ("a value", deployment(replicas=1), deployment(replicas=2), ("spec.replicas",)),
    ("a new field", deployment(), deployment(paused=True), ("spec.paused",)),
    ("a field that is gone", deployment(paused=True), deployment(), ("spec.paused",)),
    ("an entry", deployment(WEB, SIDE), deployment({**WEB, "image": "web:2"}, SIDE), (IMAGE,)),
    (
        "an entry more",
        deployment(WEB),
        deployment(WEB, SIDE),
        ("spec.template.spec.containers[name=side]",),
    ),
    (
        "another order",
        deployment(WEB, SIDE),
        deployment(SIDE, WEB),
        ("spec.template.spec.containers",),
    ),
    ("a list without keys", custom(a=[1, 2]), custom(a=[1, 3]), ("spec.a[1]",)),
    ("a longer list without keys", custom(a=[1]), custom(a=[1, 2]), ("spec.a",)),
    (
        "another annotation",
        custom(),
        {**custom(), "metadata": {"name": "a", "annotations": {"x.y/z": "1"}}},
        ("metadata.annotations",),
    ),
    ("the status only", custom(), {**custom(), "status": {"phase": "Ready"}}, ()),
    (
        "what the server keeps",
        custom(),
        {**custom(), "metadata": {"name": "a", "resourceVersion": "7", "generation": 2}},
        (),
    ),
]


@pytest.mark.parametrize(
    ("before", "after", "paths"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_change_is_told_by_its_paths(
    before: dict[str, Any], after: dict[str, Any], paths: tuple[str, ...]
) -> None:
    assert changed_fields(before, after, most=10) == paths


def test_the_number_of_paths_is_bounded() -> None:
    after = custom(**{f"f{number:03}": number for number in range(1000)})
    assert len(changed_fields(custom(**dict.fromkeys(after["spec"], "x")), after, most=10)) == 10


def test_a_value_that_is_nested_too_deeply_ends_the_path() -> None:
    before: Any = 1
    after: Any = 2
    for _ in range(300):
        before, after = {"a": before}, {"a": after}

    (path,) = changed_fields(custom(a=before), custom(a=after), most=10)

    assert path.count(".") < 150
