"""What is applied where a sync respects ignored fields."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.kube.summary import summarise
from handlers.comparison.ignored_fields import FieldPath, IgnoredFields, path_tree, trimmed
from handlers.comparison.respected_fields import respected
from handlers.manifest.access import annotation
from handlers.manifest.tracking import TRACKING_ID, stamp
from handlers.ports import LiveObject
from tests.unit.handlers.comparison.test_ignored_fields import paths_of
from tests.unit.handlers.comparison.test_laws import custom, spec

Fields = dict[str, Any]


def deployment(body: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "shop"}
    whole = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": body}
    return stamp(whole, "shop")


def live(
    body: dict[str, Any], ours: Fields, manager: str = "argocd-controller", how: str = "Apply"
) -> LiveObject:
    entry = {
        "manager": manager,
        "operation": how,
        "apiVersion": "apps/v1",
        "fieldsV1": {"f:spec": ours},
    }
    there = deployment(body)
    metadata = {**there["metadata"], "managedFields": [entry], "uid": "u", "resourceVersion": "7"}
    return summarise(msgspec.json.encode({**there, "metadata": metadata}))


def sent(
    git: dict[str, Any],
    there: LiveObject,
    left: list[FieldPath],
    right: list[FieldPath] | None = None,
) -> dict[str, Any]:
    """Return the spec that is applied; the places are those below the spec."""
    sides = (left, left if right is None else right)
    desired, of_live = (tuple(("spec", *path) for path in side) for side in sides)
    applied = respected(deployment(git), there, IgnoredFields(desired=desired, live=of_live))
    found: dict[str, Any] = applied["spec"]
    return found


REPLICAS: FieldPath = ("replicas",)
PAUSED = {"f:paused": {}}


def test_the_value_of_another_manager_is_left_out() -> None:
    there = live({"replicas": 3, "paused": False}, PAUSED)
    assert sent({"replicas": 1, "paused": True}, there, [REPLICAS]) == {"paused": True}


def test_our_own_value_is_sent_as_the_cluster_has_it_lest_it_be_removed() -> None:
    there = live({"replicas": 3, "paused": False}, {**PAUSED, "f:replicas": {}})
    git = {"replicas": 1, "paused": True}
    assert sent(git, there, [REPLICAS]) == {"replicas": 3, "paused": True}
    assert sent({}, there, [REPLICAS]) == {"replicas": 3}


@pytest.mark.parametrize("manager", ["kubectl-client-side-apply", "helm"])
def test_the_value_of_an_earlier_tool_is_sent_because_it_is_taken_over(manager: str) -> None:
    there = live({"replicas": 3}, {"f:replicas": {}}, manager, "Update")
    assert sent({"replicas": 1}, there, [REPLICAS]) == {"replicas": 3}


def test_a_field_that_somebody_has_removed_is_not_set_again() -> None:
    assert sent({"replicas": 1, "paused": True}, live({}, {}), [REPLICAS]) == {"paused": True}


def template(*containers: dict[str, Any]) -> dict[str, Any]:
    return {"template": {"spec": {"containers": list(containers)}}}


def owned_container(name: str, fields: Fields) -> Fields:
    entry = {f'k:{{"name":"{name}"}}': {".": {}, "f:name": {}, **fields}}
    return {"f:template": {"f:spec": {"f:containers": entry}}}


def image(index: int) -> FieldPath:
    return ("template", "spec", "containers", index, "image")


def test_an_entry_is_sent_with_its_merge_keys_and_without_what_others_own_in_it() -> None:
    there = live(
        template({"name": "web", "image": "web:2", "args": ["a"]}), owned_container("web", {})
    )
    git = template({"name": "web", "image": "web:1", "args": ["b"]})
    assert sent(git, there, [image(0)]) == template({"name": "web", "args": ["b"]})


def test_a_new_entry_keeps_its_ignored_fields_because_some_are_required() -> None:
    ours = owned_container("web", {"f:image": {}})
    there = live(template({"name": "web", "image": "web:2"}), ours)
    git = template({"name": "new", "image": "new:1"}, {"name": "web", "image": "web:1"})
    applied = sent(git, there, [image(0), image(1)], [image(0)])
    assert applied == template({"name": "new", "image": "new:1"}, {"name": "web", "image": "web:2"})


@pytest.mark.parametrize("ours", [True, False])
def test_an_entry_that_is_ignored_as_a_whole_is_sent_if_it_is_ours(*, ours: bool) -> None:
    side: FieldPath = ("template", "spec", "containers", 1)
    fields = owned_container("side", {"f:image": {}}) if ours else owned_container("web", {})
    there = live(template({"name": "web"}, {"name": "side", "image": "mesh:2"}), fields)
    git = template({"name": "web"}, {"name": "side", "image": "mesh:1"})
    kept = [{"name": "side", "image": "mesh:2"}] if ours else []
    assert sent(git, there, [side]) == template({"name": "web"}, *kept)


def rule(name: str, value: int, more: int = 0) -> dict[str, Any]:
    return {"name": name, "value": value, "more": more}


def test_inside_an_atomic_list_the_live_values_are_sent() -> None:
    git = {"rules": [rule("a", 1, more=9), rule("b", 1)]}
    there = live({"rules": [rule("a", 2), rule("b", 3)]}, {"f:rules": {}})
    places: list[FieldPath] = [("rules", 0, "value"), ("rules", 1, "value")]
    assert sent(git, there, places) == {"rules": [rule("a", 2, more=9), rule("b", 3)]}


def test_entries_of_an_atomic_list_are_paired_by_name_where_some_came_or_went() -> None:
    git = {"rules": [rule("b", 1), rule("c", 1), rule("d", 1)]}
    there = live({"rules": [rule("a", 2), rule("b", 3)]}, {"f:rules": {}})
    left: list[FieldPath] = [("rules", 0, "value"), ("rules", 1, "value"), ("rules", 2, "value")]
    assert sent(git, there, left, left[:2]) == {"rules": [rule("b", 3), rule("c", 1), rule("d", 1)]}


def test_an_object_that_is_replaced_keeps_all_ignored_fields_of_the_cluster() -> None:
    ignored = IgnoredFields(desired=(("spec", "replicas"),), live=(("spec", "replicas"),))
    there = live({"replicas": 3}, {})
    applied = respected(deployment({"replicas": 1}), there, ignored, replaces=True)
    assert applied["spec"] == {"replicas": 3}


def test_what_says_whose_object_it_is_is_always_sent() -> None:
    ignored = IgnoredFields(desired=(("metadata",),), live=(("metadata",),))
    applied = respected(deployment({}), live({}, {}), ignored)
    assert applied["metadata"]["name"] == "web"
    assert annotation(applied, TRACKING_ID) == "shop:apps/Deployment:shop/web"
    assert "uid" not in applied["metadata"]


@given(spec, st.data())
def test_nothing_but_ignored_fields_is_left_out(body: dict[str, Any], data: st.DataObject) -> None:
    """Where desired and live are the same object, which nobody owns."""
    written = custom(body)
    inside = [path for path in paths_of(written) if path[0] == "spec"]
    chosen = tuple(data.draw(st.lists(st.sampled_from(inside), max_size=3))) if inside else ()
    there = summarise(msgspec.json.encode(written), whole=True)
    applied = respected(written, there, IgnoredFields(desired=chosen, live=chosen))
    tree = path_tree(chosen)
    assert not chosen or trimmed(applied, tree).get("spec") == trimmed(written, tree).get("spec")
    assert chosen or applied == written
