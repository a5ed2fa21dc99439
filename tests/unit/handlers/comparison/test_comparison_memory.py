"""What is kept of an application's last comparison, and when it counts no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bus.identity import AppKey
from bus.status import SyncStatus
from handlers.comparison.comparison_memory import MOST_APPLICATIONS, ComparisonMemory
from handlers.comparison.drift_summary import DriftSummary, compare
from handlers.comparison.ignored_fields import IgnoredFields
from handlers.comparison.resource_state import KnownStates, PairOptions
from handlers.manifest.manifest_assembly import artifact_lines
from handlers.ports import LiveObject
from tests.unit.handlers.sync.builders import key, live, manifest

APP = AppKey("argocd", "shop")


def artifact(*manifests: Mapping[str, Any]) -> bytes:
    return artifact_lines(manifests)


def states(summary: DriftSummary) -> dict[str, SyncStatus | None]:
    return {one.key.name: one.status for one in summary.resources}


def look(
    memory: ComparisonMemory, content: bytes, *lives: LiveObject, **options: Any
) -> tuple[DriftSummary, DriftSummary]:
    """Compare with the memory, and with none."""
    desired = memory.desired(APP, content)
    found = {one.key: one for one in lives}
    kept = compare(desired, found, "web", known=memory.states(APP), **options)
    return kept, compare(desired, found, "web", **options)


def test_objects_that_stay_are_the_very_same() -> None:
    memory = ComparisonMemory()
    first = memory.desired(APP, artifact(manifest("a"), manifest("b")))
    second = memory.desired(APP, artifact(manifest("a"), manifest("b", key="new")))

    assert second.objects[key("a")] is first.objects[key("a")]
    assert second.objects[key("b")] == manifest("b", key="new")


def test_an_unchanged_pair_is_not_compared_again() -> None:
    memory, one = ComparisonMemory(), live(manifest("a"))
    content = artifact(manifest("a"))
    before, _ = look(memory, content, one)
    after, _ = look(memory, content, one)
    assert after.resources[0] is before.resources[0]


def test_what_changed_on_either_side_is_compared_again() -> None:
    memory, one, content = ComparisonMemory(), live(manifest("a")), artifact(manifest("a"))
    look(memory, content, one)
    edited = live(manifest("a", key="edited"))
    for kept, anew in (
        look(memory, content, edited),
        look(memory, content),
        look(memory, artifact(manifest("a", key="edited")), edited),
        look(memory, artifact(manifest("a", key="edited")), one),
        look(memory, artifact(manifest("b")), one),
    ):
        assert kept == anew


def test_other_ignored_fields_are_compared_again() -> None:
    memory, edited = ComparisonMemory(), live(manifest("a", key="edited"))
    content = artifact(manifest("a"))
    ignored = IgnoredFields(desired=(("data",),), live=(("data",),))
    for fields in ({}, {key("a"): ignored}, {}):
        kept, anew = look(memory, content, edited, ignored=fields)
        assert kept == anew


def test_another_identity_or_option_compares_everything_again() -> None:
    one, known = live(manifest("a")), KnownStates()
    desired = ComparisonMemory().desired(APP, artifact(manifest("a")))
    mine = compare(desired, {one.key: one}, "web", known=known)
    other = compare(desired, {one.key: one}, "api", known=known)
    assert (mine.resources[0].shared_with, other.resources[0].shared_with) == ("", "web")
    compare(desired, {one.key: one}, "api", options=PairOptions(takes_over=False), known=known)
    assert known.context == ("api", PairOptions(takes_over=False))


def test_equal_hooks_without_a_name_stay_two() -> None:
    nameless = manifest("", hook="PreSync")
    found = ComparisonMemory().desired(APP, artifact(nameless, nameless))
    assert len(found.hooks) == 2


def test_large_artifacts_and_too_many_are_not_kept() -> None:
    content = artifact(manifest("a"))
    small = ComparisonMemory(most_bytes=len(content) - 1)
    small.desired(APP, content)
    assert small.states(APP) is not small.states(APP)

    memory = ComparisonMemory()
    for number in range(MOST_APPLICATIONS + 1):
        memory.desired(AppKey("argocd", str(number)), content)
    first, last = AppKey("argocd", "0"), AppKey("argocd", str(MOST_APPLICATIONS))
    assert memory.states(last) is memory.states(last)
    assert memory.states(first) is not memory.states(first)
