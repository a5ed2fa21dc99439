"""Ignored fields leave both sides of a pair, and nothing else does."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.kube.summary import summarise
from bus.status import SyncStatus
from handlers.application.ignore_rules import ObjectRules, read_pointer
from handlers.comparison.desired_objects import desired_of
from handlers.comparison.drift_summary import compare
from handlers.comparison.ignored_fields import FieldPath, IgnoredFields, located, pointed, without
from handlers.comparison.normalised_objects import normalise
from handlers.comparison.object_diff import diff
from handlers.comparison.resource_state import ResourceState
from handlers.manifest.access import key
from handlers.manifest.tracking import stamp
from tests.unit.handlers.comparison.test_laws import custom, owned, owning, spec

S, OUT = SyncStatus.SYNCED, SyncStatus.OUT_OF_SYNC


def rules(*pointers: str) -> ObjectRules:
    return ObjectRules(pointers=tuple(read_pointer(one) or () for one in pointers))


def deployment(**body: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": body,
    }


def containers(*images: str) -> dict[str, Any]:
    listed = [{"name": f"c{i}", "image": image} for i, image in enumerate(images)]
    return {"template": {"spec": {"containers": listed}}}


def state(desired: dict[str, Any], live: dict[str, Any], *pointers: str) -> ResourceState:
    """As an Application has it whose rules are these pointers."""
    git, there = stamp(desired, "shop"), summarise(msgspec.json.encode(stamp(live, "shop")))
    left, right = normalise(git), there.manifest
    fields = IgnoredFields(
        desired=pointed(left, rules(*pointers)), live=pointed(right, rules(*pointers))
    )
    (found,) = compare(
        desired_of([git]), {key(git): there}, "shop", ignored={key(git): fields}
    ).resources
    return found


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str, SyncStatus]] = {
    "a changed value": (deployment(replicas=1), deployment(replicas=3), "/spec/replicas", S),
    "a value that only Git has": (deployment(replicas=1), deployment(), "/spec/replicas", S),
    "a value that only the cluster has": (
        deployment(),
        owning(deployment(replicas=3), owned({"spec": {"replicas": 3}})),
        "/spec/replicas",
        S,
    ),
    "another field": (
        deployment(replicas=1, paused=True),
        deployment(replicas=3, paused=False),
        "/spec/replicas",
        OUT,
    ),
    "all that Git has of a map": (
        deployment(template={"metadata": {"labels": {"a": "1"}}}),
        deployment(),
        "/spec/template/metadata/labels/a",
        S,
    ),
    "an empty map beside one that holds only ignored fields": (
        deployment(selector={}),
        owning(deployment(selector={"a": "1"}), owned({"spec": {"selector": {"a": "1"}}})),
        "/spec/selector/a",
        S,
    ),
    "an entry of a list by its index": (
        deployment(**containers("web:1", "side:1")),
        deployment(**containers("web:1", "side:2")),
        "/spec/template/spec/containers/1/image",
        S,
    ),
    "another entry of the list": (
        deployment(**containers("web:1", "side:1")),
        deployment(**containers("web:2", "side:2")),
        "/spec/template/spec/containers/1/image",
        OUT,
    ),
    "an index that the list does not have": (
        deployment(**containers("web:1")),
        deployment(**containers("web:2")),
        "/spec/template/spec/containers/7/image",
        OUT,
    ),
    "a whole object's metadata": (
        deployment(),
        {**deployment(), "metadata": {"name": "web", "namespace": "shop", "labels": {"a": "b"}}},
        "/metadata",
        S,
    ),
}


@pytest.mark.parametrize(("desired", "live", "pointer", "status"), CASES.values(), ids=CASES)
def test_a_pointer_leaves_its_field_out_of_the_comparison(
    desired: dict[str, Any], live: dict[str, Any], pointer: str, status: SyncStatus
) -> None:
    assert state(desired, live, pointer).status is status


def test_stringdata_of_a_secret_is_ignored_by_its_key_under_data() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"}}
    git = {**secret, "stringData": {"a": "one", "b": "same"}}
    live = {**secret, "data": {"a": "dHdv", "b": "c2FtZQ=="}}
    assert state(git, live, "/data/a").status is S
    assert state(git, live, "/data/b").status is OUT


def test_an_object_that_differs_in_ignored_fields_only_is_known_as_such() -> None:
    replicas = (deployment(replicas=1), deployment(replicas=3))
    assert state(*replicas, "/spec/replicas").hides_difference
    assert not state(deployment(replicas=1), deployment(replicas=1), "/spec/x").hides_difference
    assert not state(*replicas, "/spec/paused").hides_difference


def test_ignored_fields_of_an_earlier_tool_are_no_leftovers() -> None:
    entry = {
        "manager": "helm",
        "operation": "Update",
        "apiVersion": "apps/v1",
        "fieldsV1": owned({"spec": {"paused": True}}),
    }
    live = deployment(paused=True)
    live["metadata"]["managedFields"] = [entry]
    assert state(deployment(), live).left_over
    assert state(deployment(), live, "/spec/paused").status is S


def paths_of(value: Any, path: FieldPath = ()) -> list[FieldPath]:
    """Every place below a value."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, Mapping):
        inner = list(value.items())
    if isinstance(value, list):
        inner = list(enumerate(value))
    found = [(*path, step) for step, _ in inner]
    return [*found, *(deep for step, one in inner for deep in paths_of(one, (*path, step)))]


@given(spec.filter(bool), st.data())
def test_what_is_ignored_alone_never_hides_a_difference_elsewhere(
    body: dict[str, Any], data: st.DataObject
) -> None:
    """Every other field of the spec is as it was, and a change to it is still seen."""
    live = custom({**body, "ignored": {"x": 1, "y": [{"z": 1}]}})
    inside = [path for path in paths_of(live) if path[:2] == ("spec", "ignored")]
    chosen = tuple(data.draw(st.lists(st.sampled_from(inside), min_size=1)))
    desired = copy.deepcopy(live)
    changed = data.draw(st.sampled_from(sorted(body)))
    desired["spec"][changed] = "changed"
    fields = IgnoredFields(desired=chosen, live=chosen)
    left, right = fields.without(desired, live)
    assert [one.path for one in diff(left, right).differences] == [f"spec.{changed}"]
    assert {name: value for name, value in right["spec"].items() if name != "ignored"} == body


@given(spec, st.data())
def test_leaving_fields_out_changes_neither_its_input_nor_other_places(
    body: dict[str, Any], data: st.DataObject
) -> None:
    document = custom(body)
    before = copy.deepcopy(document)
    chosen = data.draw(st.lists(st.sampled_from(paths_of(document)), max_size=4))
    left, _ = without(document, chosen)
    assert document == before
    assert without(left, ())[0] == left
    for path in paths_of(document):
        kept = all(isinstance(step, str) for step in path)
        apart = all(path[: len(one)] != one and one[: len(path)] != path for one in chosen)
        if kept and apart:
            assert located(left, tuple(str(step) for step in path)) == path


@pytest.mark.parametrize("token", ["9" * 5000, "\u0662", "-1", "1"])
def test_an_index_that_no_list_has_names_no_place(token: str) -> None:
    assert located({"list": ["a"]}, ("list", token)) is None
    assert located({"list": ["a"]}, ("list", "0")) == ("list", 0)
