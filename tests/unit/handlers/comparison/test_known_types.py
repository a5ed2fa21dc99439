"""Fields of custom resources whose values the settings say may be spelled in several ways."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.application.known_types import TYPES, KnownTypeField, KnownTypes
from handlers.comparison.desired_objects import desired_of
from handlers.comparison.drift_summary import compare
from handlers.comparison.object_diff import diff
from handlers.comparison.object_difference import DiffVerdict
from handlers.comparison.resource_state import KnownStates, PairOptions
from handlers.comparison.typed_shapes import TYPED


def rules(field: str, type_: str) -> tuple[KnownTypes, ...]:
    fields = (KnownTypeField(field=field, type=type_),)
    return (KnownTypes(group="*.io", kind="Thing", fields=fields),)


def thing(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "shop"}
    return {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": metadata, "spec": spec}


def container(cpu: str, **more: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"limits": {"cpu": cpu}}, **more}


SAME = {
    "a quantity": ("spec.size", "core/Quantity", {"size": "0.1"}, {"size": "100m"}),
    "a duration": ("spec.wait", "meta/v1/Duration", {"wait": "1h"}, {"wait": "60m0s"}),
    "in a list": (
        "spec.parts.size",
        "core/Quantity",
        {"parts": [{"size": 1}]},
        {"parts": [{"size": "1"}]},
    ),
    "resources": (
        "spec.resources",
        "core/v1/ResourceRequirements",
        {"resources": {"requests": {"cpu": 1}}},
        {"resources": {"requests": {"cpu": "1000m"}}},
    ),
    "a pod": (
        "spec.pod",
        "core/v1/PodSpec",
        {"pod": {"containers": [container("0.1")]}},
        {"pod": {"containers": [container("100m")]}},
    ),
    "containers": (
        "spec.containers",
        "core/v1/Container",
        {"containers": [container("0.1")]},
        {"containers": [container("100m")]},
    ),
}


@pytest.mark.parametrize(("field", "type_", "git", "live"), SAME.values(), ids=SAME)
def test_another_spelling_is_no_difference(
    field: str, type_: str, git: dict[str, Any], live: dict[str, Any]
) -> None:
    assert diff(thing(**git), thing(**live)).verdict is DiffVerdict.DIFFERENT
    known = rules(field, type_)
    assert diff(thing(**git), thing(**live), known_types=known).verdict is DiffVerdict.SAME


DIFFERENT = {
    "another value": ("spec.size", "core/Quantity", {"size": "0.1"}, {"size": "200m"}),
    "another field": ("spec.size", "core/Quantity", {"other": "0.1"}, {"other": "100m"}),
    "no duration": ("spec.wait", "meta/v1/Duration", {"wait": "1"}, {"wait": "1s"}),
    "one more entry": (
        "spec.pod",
        "core/v1/PodSpec",
        {"pod": {"containers": [container("1")]}},
        {"pod": {"containers": [container("1"), {"name": "other"}]}},
    ),
    "a default of a pod": (
        "spec.pod",
        "core/v1/PodSpec",
        {"pod": {"containers": [container("1", ports=[{"containerPort": 1}])]}},
        {"pod": {"containers": [container("1", ports=[{"containerPort": 1, "protocol": "TCP"}])]}},
    ),
}


@pytest.mark.parametrize(("field", "type_", "git", "live"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_is_another_value_stays_a_difference(
    field: str, type_: str, git: dict[str, Any], live: dict[str, Any]
) -> None:
    known = rules(field, type_)
    assert diff(thing(**git), thing(**live), known_types=known).verdict is DiffVerdict.DIFFERENT


def test_other_kinds_keep_their_spelling() -> None:
    git, live = ({**thing(size=it), "kind": "Other"} for it in ("0.1", "100m"))
    known = rules("spec.size", "core/Quantity")
    assert diff(git, live, known_types=known).verdict is DiffVerdict.DIFFERENT


def test_each_type_that_may_be_written_has_a_shape() -> None:
    assert set(TYPED) == set(TYPES)


def test_other_known_types_compare_everything_again() -> None:
    known = KnownStates()
    for types in ((), rules("spec.size", "core/Quantity")):
        compare(
            desired_of([thing()]), {}, "web", options=PairOptions(known_types=types), known=known
        )
        assert known.context[1].known_types == types
