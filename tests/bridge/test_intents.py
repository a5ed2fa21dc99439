"""A preview says what the sync itself would decide, object by object."""

from __future__ import annotations

from agent.bridge.executor.arguments import Object, Preview
from agent.bridge.executor.intents import Intended, intents
from handlers.compare.world import World
from tests.application.build import application
from tests.sync.build import key, live, manifest, world

A, B, C = manifest("a"), manifest("b"), manifest("c")
APP = application()


def told(seen: World, said: Preview, *, has_namespace: bool = True) -> dict[str, Intended]:
    found = intents(APP, seen, said, has_namespace=has_namespace)
    return {one.key.rpartition("/")[2]: one.action for one in found}


def test_what_is_missing_changed_and_extra() -> None:
    seen = world((A, manifest("b", "2")), (live(B), live(C)))
    assert told(seen, Preview(prune=True)) == {"a": "create", "b": "change", "c": "prune"}


def test_what_is_as_wanted_is_left_out() -> None:
    assert told(world((A,), (live(A),)), Preview()) == {}


def test_an_extra_object_is_skipped_where_no_prune_was_asked_for_or_it_says_no() -> None:
    seen = world((A,), (live(A), live(C)))
    kept = world((A,), (live(A), live(manifest("c", sync_options="Prune=false"))))
    assert told(seen, Preview()) == told(kept, Preview(prune=True)) == {"c": "skip"}
    assert told(seen, Preview(prune=True, options=("Prune=false",))) == {"c": "skip"}


def test_what_the_project_denies_is_refused_with_the_reason() -> None:
    seen = world((A, B), denied={key("b"): "not permitted here"})
    found = {one.key: one for one in intents(APP, seen, Preview(), has_namespace=True)}
    refused = found[str(key("b"))]
    assert (refused.action, refused.note) == (Intended.REFUSE, "not permitted here")


def test_only_the_chosen_objects() -> None:
    chosen = Preview(resources=(Object(kind="ConfigMap", namespace="shop", name="b"),))
    assert told(world((A, B)), chosen) == {"b": "create"}


def test_a_namespace_that_would_be_made_is_told() -> None:
    said = Preview(options=("CreateNamespace=true",))
    assert told(world((A,)), said, has_namespace=False) == {"shop": "create", "a": "create"}
    assert told(world((A,)), said) == {"a": "create"}
