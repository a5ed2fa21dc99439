"""Laws of comparing, over generated objects."""

import copy
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from handlers.comparison.normalised_objects import normalise
from handlers.comparison.object_diff import diff, same_after_dry_run
from handlers.comparison.object_difference import ChangeKind, DiffVerdict
from handlers.comparison.quantity import quantity

name = st.text("abc", min_size=1, max_size=3)
full = st.one_of(st.integers(1, 9), st.text("xyz", min_size=1), st.sampled_from([True]))
tree = st.recursive(
    full,
    lambda inner: st.one_of(
        st.dictionaries(name, inner, min_size=1, max_size=3),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=12,
)
spec = st.dictionaries(name, tree, max_size=4)
container = st.fixed_dictionaries(
    {"name": name, "image": name},
    optional={
        "env": st.lists(st.fixed_dictionaries({"name": name}), unique_by=lambda e: str(e["name"]))
    },
)
containers = st.lists(container, min_size=1, max_size=3, unique_by=lambda c: str(c["name"]))


def custom(body: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "x", "namespace": "n"},
        "spec": body,
    }


def pod(written: list[dict[str, Any]]) -> dict[str, Any]:
    return custom({"containers": written}) | {"apiVersion": "v1", "kind": "Pod"}


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(list(value))}
    return [reversed_keys(each) for each in value] if isinstance(value, list) else value


def with_defaults(value: Any) -> Any:
    """As a server adds to it: a field in every map outside atomic lists, a container."""
    if not isinstance(value, dict):
        return value
    return {key: with_defaults(each) for key, each in value.items()} | {"defaulted": "by server"}


def owned(value: Any) -> Any:
    if not isinstance(value, dict):
        return {}
    return {"f:" + key: owned(each) for key, each in value.items()}


def owning(live: dict[str, Any], fields: Any) -> dict[str, Any]:
    entry = {"manager": "argocd-controller", "operation": "Apply", "fieldsV1": fields}
    return {**live, "metadata": {**live["metadata"], "managedFields": [entry]}}


@given(spec)
def test_an_object_does_not_differ_from_itself(body: dict[str, Any]) -> None:
    assert diff(custom(body), custom(body)).verdict is DiffVerdict.SAME


@given(spec)
def test_what_the_server_adds_is_no_difference(body: dict[str, Any]) -> None:
    live = owning(custom(with_defaults(body)), owned({"spec": body}))
    assert diff(custom(body), live).verdict is DiffVerdict.SAME


@given(containers)
def test_what_others_inject_is_no_difference(written: list[dict[str, Any]]) -> None:
    injected = {"name": "injected", "image": "mesh"}
    live = [{**each, "terminationMessagePath": "/dev/log"} for each in written]
    assert diff(pod(written), pod([*live, injected])).verdict is DiffVerdict.SAME


@given(spec, spec)
def test_order_of_keys_does_not_matter(one: dict[str, Any], other: dict[str, Any]) -> None:
    straight = diff(custom(one), custom(other))
    turned = diff(custom(reversed_keys(one)), custom(reversed_keys(other)))
    assert sorted(d.path for d in straight.differences) == sorted(
        d.path for d in turned.differences
    )


@given(spec.filter(bool), st.data())
def test_removing_an_owned_field_is_seen(body: dict[str, Any], data: st.DataObject) -> None:
    removed = data.draw(st.sampled_from(sorted(body)))
    desired = {key: value for key, value in body.items() if key != removed}
    outcome = diff(custom(desired), owning(custom(body), owned({"spec": body})))
    assert [(d.path, d.kind) for d in outcome.differences] == [
        (f"spec.{removed}", ChangeKind.EXTRA)
    ]


@given(spec.filter(bool), st.data())
def test_changing_a_field_is_seen(body: dict[str, Any], data: st.DataObject) -> None:
    changed = data.draw(st.sampled_from(sorted(body)))
    outcome = diff(custom({**body, changed: "changed"}), custom(body))
    assert outcome.verdict is DiffVerdict.DIFFERENT


@given(spec, st.dictionaries(name, st.one_of(st.none(), full), max_size=3))
def test_normalising_twice_is_normalising_once(body: dict[str, Any], notes: dict[str, Any]) -> None:
    manifest = {**custom(body), "apiVersion": "v1", "kind": "Secret", "stringData": notes}
    manifest["metadata"]["annotations"] = notes
    before = copy.deepcopy(manifest)
    once = normalise(manifest)
    assert normalise(once) == once
    assert manifest == before


@given(spec)
def test_the_server_answering_what_is_there_changes_nothing(body: dict[str, Any]) -> None:
    live = custom(body)
    answer = reversed_keys(live)
    answer["metadata"] = {**answer["metadata"], "resourceVersion": "9", "uid": "u"}
    assert same_after_dry_run(answer, live)


@given(st.integers(0, 10**6))
def test_a_quantity_means_the_same_in_every_spelling(amount: int) -> None:
    spellings = (amount, str(amount), f"{amount}000m", f"{amount}e0", f"{amount * 1000}000u")
    assert {quantity(each) for each in spellings} == {Decimal(amount)}
