from __future__ import annotations

import pytest

from bus.status import SyncStatus
from handlers.compare.world import State, World, compared, joined, questions
from handlers.sync.outlook import outlook
from tests.application.build import application
from tests.sync.build import SAME, found, key, live, manifest, world

A, B = manifest("a"), manifest("b")
OTHER = manifest("a", "2")

WORLDS: dict[str, tuple[World, SyncStatus, dict[str, State]]] = {
    "same": (world((A,), (live(A),)), SyncStatus.SYNCED, {"a": State.SAME}),
    "changed": (world((A,), (live(OTHER),)), SyncStatus.OUT_OF_SYNC, {"a": State.CHANGED}),
    "missing": (world((A,)), SyncStatus.OUT_OF_SYNC, {"a": State.MISSING}),
    "extra": (
        world((A,), (live(A), live(B))),
        SyncStatus.OUT_OF_SYNC,
        {"a": State.SAME, "b": State.EXTRA},
    ),
    "leaving": (
        world((A,), (live(A), live(B, deleting=True))),
        SyncStatus.SYNCED,
        {"a": State.SAME, "b": State.LEAVING},
    ),
    "of nobody": (
        world((A,), (live(A, body=b"", tracking=""),)),
        SyncStatus.OUT_OF_SYNC,
        {"a": State.CHANGED},
    ),
    "denied": (
        world((A,), (live(A),), {key("a"): "not permitted"}),
        SyncStatus.OUT_OF_SYNC,
        {"a": State.SAME},
    ),
    "denied extra": (
        world((A,), (live(A), live(B)), {key("b"): "not permitted"}),
        SyncStatus.SYNCED,
        {"a": State.SAME},
    ),
    "hook": (world((manifest("a", hook="PreSync"),)), SyncStatus.SYNCED, {}),
}


@pytest.mark.parametrize(("seen", "status", "states"), WORLDS.values(), ids=WORLDS)
def test_a_world_is_judged(seen: World, status: SyncStatus, states: dict[str, State]) -> None:
    assert seen.status is status
    assert {one.key.name: one.state for one in seen.pairs} == states


def test_an_answer_of_the_server_decides_and_only_for_this_state_of_both_sides() -> None:
    seen = found((A,), (live(OTHER),))
    ((_, question),) = questions(compared(seen, {}), seen).items()
    assert joined(compared(seen, {question: SAME}), seen).status is SyncStatus.SYNCED
    moved = found((A,), (live(OTHER, resource_version="9"),))
    assert joined(compared(moved, {question: SAME}), moved).status is SyncStatus.OUT_OF_SYNC


def test_the_server_is_not_asked_about_a_revision_that_is_to_be_applied_anyway() -> None:
    seen = found((A,), (live(OTHER),))
    assert questions(compared(seen, {}), seen, deployed=False) == {}


def test_the_server_is_not_asked_about_what_is_the_same_missing_or_of_nobody() -> None:
    seen = found((A, B, manifest("c")), (live(A), live(B, body=b"", tracking="")))
    assert questions(compared(seen, {}), seen) == {}


def test_what_may_not_be_pruned_is_no_reason_to_sync() -> None:
    kept = manifest("b", sync_options="Prune=false")
    seen = outlook(application(), None, world((A,), (live(A), live(kept))))
    assert (seen.status, seen.differing, seen.extra) == (SyncStatus.OUT_OF_SYNC, (), ())


def test_an_outlook_counts_what_differs() -> None:
    seen = outlook(application(), None, world((A, manifest("c")), (live(OTHER), live(B))))
    assert (seen.desired, seen.differing, seen.extra) == (2, (key("a"), key("c")), (key("b"),))
