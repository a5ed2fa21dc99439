from __future__ import annotations

import pytest

from bus.status import SyncStatus
from handlers.comparison.comparison import Comparison, PairState, joined
from handlers.comparison.dry_run_questions import compared, questions
from handlers.sync.sync_input import sync_input
from tests.unit.handlers.application.builders import application
from tests.unit.handlers.sync.builders import SAME, comparison, found, key, live, manifest

A, B = manifest("a"), manifest("b")
OTHER = manifest("a", "2")

COMPARISONS: dict[str, tuple[Comparison, SyncStatus, dict[str, PairState]]] = {
    "same": (comparison((A,), (live(A),)), SyncStatus.SYNCED, {"a": PairState.SAME}),
    "changed": (comparison((A,), (live(OTHER),)), SyncStatus.OUT_OF_SYNC, {"a": PairState.CHANGED}),
    "missing": (comparison((A,)), SyncStatus.OUT_OF_SYNC, {"a": PairState.MISSING}),
    "extra": (
        comparison((A,), (live(A), live(B))),
        SyncStatus.OUT_OF_SYNC,
        {"a": PairState.SAME, "b": PairState.EXTRA},
    ),
    "leaving": (
        comparison((A,), (live(A), live(B, deleting=True))),
        SyncStatus.SYNCED,
        {"a": PairState.SAME, "b": PairState.LEAVING},
    ),
    "of nobody": (
        comparison((A,), (live(A, body=b"", tracking=""),)),
        SyncStatus.OUT_OF_SYNC,
        {"a": PairState.CHANGED},
    ),
    "denied": (
        comparison((A,), (live(A),), {key("a"): "not permitted"}),
        SyncStatus.OUT_OF_SYNC,
        {"a": PairState.SAME},
    ),
    "denied extra": (
        comparison((A,), (live(A), live(B)), {key("b"): "not permitted"}),
        SyncStatus.SYNCED,
        {"a": PairState.SAME},
    ),
    "hook": (comparison((manifest("a", hook="PreSync"),)), SyncStatus.SYNCED, {}),
}


@pytest.mark.parametrize(("seen", "status", "states"), COMPARISONS.values(), ids=COMPARISONS)
def test_a_world_is_judged(
    seen: Comparison, status: SyncStatus, states: dict[str, PairState]
) -> None:
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
    seen = sync_input(application(), None, comparison((A,), (live(A), live(kept))))
    assert (seen.status, seen.differing, seen.extra) == (SyncStatus.OUT_OF_SYNC, (), ())


def test_an_outlook_counts_what_differs() -> None:
    seen = sync_input(application(), None, comparison((A, manifest("c")), (live(OTHER), live(B))))
    assert (seen.desired, seen.differing, seen.extra) == (2, (key("a"), key("c")), (key("b"),))
