"""The sync status of an application from its objects."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from agent.kube.summary import summarise
from bus.status import SyncStatus
from handlers.comparison.desired_objects import desired_of
from handlers.comparison.drift_summary import DriftSummary, compare, resolve
from handlers.comparison.object_difference import DiffOutcome, DiffVerdict
from handlers.comparison.resource_state import ResourceState
from handlers.manifest.access import Manifest, key
from handlers.manifest.tracking import stamp

S, OUT = SyncStatus.SYNCED, SyncStatus.OUT_OF_SYNC
IGNORE = {"argocd.argoproj.io/compare-options": "IgnoreExtraneous"}


def config(name: str, value: str = "1", **annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "n", "annotations": annotations},
        "data": {"a": value},
    }


def own(*manifests: dict[str, Any], app: str = "shop") -> list[dict[str, Any]]:
    return [stamp(manifest, app) for manifest in manifests]


def compared(desired: Sequence[Manifest], live: Sequence[Manifest]) -> DriftSummary:
    """With the live objects as the index keeps them."""
    found = {key(manifest): summarise(msgspec.json.encode(manifest)) for manifest in live}
    return compare(desired_of(desired), found, "shop")


def only(comparison: DriftSummary) -> ResourceState:
    (state,) = comparison.resources
    return state


def test_equal_sets_are_synced() -> None:
    both = own(config("a"), config("b"))
    result = compared(both, both)
    assert result.status is S
    assert result.doubtful == ()


def test_changed_object_is_out_of_sync_and_doubtful() -> None:
    (live,) = own(config("a", "2"))
    result = compared(own(config("a")), [live])
    assert result.status is OUT
    assert result.doubtful == (key(live),)


def test_missing_object_is_out_of_sync_and_nobody_needs_asking() -> None:
    result = compared(own(config("a")), [])
    assert only(result).live is False
    assert result.status is OUT
    assert result.doubtful == ()


def test_object_no_longer_desired_requires_pruning() -> None:
    result = compared([], own(config("old")))
    assert only(result).requires_pruning
    assert result.status is OUT
    assert result.doubtful == ()


@pytest.mark.parametrize(
    "live",
    [
        config("untracked"),
        own(config("of another app"), app="other")[0],
        {**own(config("copied"))[0], "kind": "Secret"},
    ],
    ids=["untracked", "another app's", "annotation copied"],
)
def test_foreign_object_is_not_pruned(live: dict[str, Any]) -> None:
    assert compared([], [live]).resources == ()


def test_owned_object_is_left_to_its_owner() -> None:
    (live,) = own(config("child"))
    owner = {"apiVersion": "v1", "kind": "X", "name": "p", "uid": "u"}
    live = {**live, "metadata": {**live["metadata"], "ownerReferences": [owner]}}
    assert compared([], [live]).resources == ()


def test_ignored_extra_object_does_not_worsen_the_application() -> None:
    result = compared([], own(config("old", **IGNORE)))
    assert only(result).status is OUT
    assert only(result).requires_pruning
    assert result.status is S


@pytest.mark.parametrize("hook", ["PreSync", "Skip"])
def test_hooks_are_no_part_of_the_status(hook: str) -> None:
    hooks = own(config("h", **{"argocd.argoproj.io/hook": hook}))
    for result in (compared(hooks, []), compared(hooks, hooks), compared([], hooks)):
        assert only(result).hook
        assert only(result).status is None
        assert not only(result).requires_pruning
        assert result.status is S


def test_object_of_two_applications_names_the_other() -> None:
    result = compared(own(config("a")), own(config("a"), app="other"))
    assert only(result).shared_with == "other"


def test_untracked_object_of_the_same_name_lacks_at_least_our_annotation() -> None:
    result = compared(own(config("a")), [config("a")])
    assert result.status is OUT
    assert "tracking-id" in only(result).differences[0].path


def test_field_removed_from_git_is_drift() -> None:
    (desired,) = own(config("a"))
    fields: dict[str, Any] = {"f:data": {"f:a": {}, "f:removed": {}}}
    entry = {"manager": "argocd-controller", "operation": "Apply", "fieldsV1": fields}
    live = {**desired, "data": {"a": "1", "removed": "2", "added by another": "3"}}
    live["metadata"] = {**desired["metadata"], "managedFields": [entry]}
    assert [d.path for d in only(compared([desired], [live])).differences] == ["data.removed"]


def test_wave_and_version_are_told() -> None:
    (state,) = compared(own(config("a", **{"argocd.argoproj.io/sync-wave": "3"})), []).resources
    assert (state.wave, state.version) == (3, "v1")


def test_resources_are_sorted_by_key() -> None:
    both = own(config("b"), config("a"))
    assert [state.key.name for state in compared(both, both).resources] == ["a", "b"]


def test_answer_of_the_server_replaces_what_looked_different() -> None:
    live = own(config("a", "2"))
    result = compared(own(config("a")), live)
    answers = {key(live[0]): DiffOutcome(verdict=DiffVerdict.SAME)}
    assert resolve(result, answers).status is S
    assert resolve(result, {}) == result


def test_uncertain_object_is_unknown_until_answered() -> None:
    (desired,) = own(config("a"))
    result = compared([desired | {"immutable": False}], [desired])
    assert result.status is SyncStatus.UNKNOWN
    assert result.doubtful == (key(desired),)


def test_out_of_sync_beats_unknown() -> None:
    (desired,) = own(config("a"))
    result = compared([desired | {"immutable": False}, *own(config("b"))], [desired])
    assert result.status is OUT
