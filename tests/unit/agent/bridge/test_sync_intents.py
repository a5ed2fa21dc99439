"""A preview says what the sync itself would decide, object by object."""

from __future__ import annotations

from agent.bridge.tasks.executors.diff import IntendedChange, Intent, intents
from bus.link import DiffArguments, ObjectArguments
from handlers.comparison.comparison import Comparison
from handlers.manifest.options import parse_sync_options
from handlers.ports import LiveObject
from handlers.sync.destination_namespace import DestinationNamespace, namespace_key
from tests.unit.handlers.sync.builders import comparison, key, live, manifest

A, B, C = manifest("a"), manifest("b"), manifest("c")
NAMESPACE = LiveObject(
    key=namespace_key("shop"), version="v1", uid="u", resource_version="1", tracking=""
)


def intents_of(
    seen: Comparison, arguments: DiffArguments, *, has_namespace: bool = True
) -> tuple[Intent, ...]:
    space = DestinationNamespace(name="shop", live=NAMESPACE if has_namespace else None)
    return intents(seen, arguments, parse_sync_options(arguments.options), space)


def reported(
    seen: Comparison, arguments: DiffArguments, *, has_namespace: bool = True
) -> dict[str, IntendedChange]:
    found = intents_of(seen, arguments, has_namespace=has_namespace)
    return {one.key.rpartition("/")[2]: one.action for one in found}


def test_what_is_missing_changed_and_extra() -> None:
    seen = comparison((A, manifest("b", "2")), (live(B), live(C)))
    assert reported(seen, DiffArguments(prune=True)) == {"a": "create", "b": "change", "c": "prune"}


def test_what_is_as_wanted_is_left_out() -> None:
    assert reported(comparison((A,), (live(A),)), DiffArguments()) == {}


def test_an_extra_object_is_skipped_where_no_prune_was_asked_for_or_it_says_no() -> None:
    seen = comparison((A,), (live(A), live(C)))
    kept = comparison((A,), (live(A), live(manifest("c", sync_options="Prune=false"))))
    assert (
        reported(seen, DiffArguments())
        == reported(kept, DiffArguments(prune=True))
        == {"c": "skip"}
    )
    assert reported(seen, DiffArguments(prune=True, options=("Prune=false",))) == {"c": "skip"}


def test_an_extra_object_that_waits_for_an_approval_is_skipped_with_the_reason() -> None:
    seen = comparison((A,), (live(A), live(manifest("c", sync_options="Prune=confirm"))))
    (found,) = intents_of(seen, DiffArguments(prune=True))
    assert (found.action, "approves" in found.note) == (IntendedChange.SKIP, True)


def test_what_the_project_denies_is_refused_with_the_reason() -> None:
    seen = comparison((A, B), denied={key("b"): "not permitted here"})
    found = {one.key: one for one in intents_of(seen, DiffArguments())}
    refused = found[str(key("b"))]
    assert (refused.action, refused.note) == (IntendedChange.REFUSE, "not permitted here")


def test_hooks_that_would_run_are_listed_and_a_rollback_runs_none() -> None:
    hooks = (manifest("h", hook="PreSync"), manifest("f", hook="SyncFail"))
    seen = comparison((A, *hooks), (live(A),))
    (hook,) = intents_of(seen, DiffArguments())
    assert (hook.key, hook.action, hook.note) == (
        str(key("h")),
        IntendedChange.CREATE,
        "PreSync hook",
    )
    assert reported(seen, DiffArguments(history_id=0)) == {}
    denied = comparison((A, *hooks), (live(A),), denied={key("h"): "not permitted here"})
    assert reported(denied, DiffArguments()) == {"h": "refuse"}


def test_only_the_chosen_objects() -> None:
    chosen = DiffArguments(
        resources=(ObjectArguments(kind="ConfigMap", namespace="shop", name="b"),)
    )
    assert reported(comparison((A, B)), chosen) == {"b": "create"}


def test_a_namespace_that_would_be_made_is_told() -> None:
    arguments = DiffArguments(options=("CreateNamespace=true",))
    assert reported(comparison((A,)), arguments, has_namespace=False) == {
        "shop": "create",
        "a": "create",
    }
    assert reported(comparison((A,)), arguments) == {"a": "create"}
