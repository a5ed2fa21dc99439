"""What is a drift, when it ended and how; the same whatever order the facts arrive in."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bus.events import Fact
from service.history.ledger import FoldResult, LedgerState, fold
from tests.service.history.recorded_fact_samples import (
    CACHE,
    START,
    WEB,
    A,
    B,
    at,
    deleted,
    detail,
    differs,
    finished,
    synced,
)


def folded(*facts: Fact) -> FoldResult:
    return fold(LedgerState(), [at(second, fact) for second, fact in enumerate(facts)])


ENDS: dict[str, tuple[tuple[Fact, ...], str]] = {
    "healed by an automated sync": ((synced(), differs(WEB), finished()), "healed"),
    "synced by hand": ((synced(), differs(WEB), finished(automated=False), synced()), "synced"),
    "undone by somebody": ((synced(), differs(WEB), synced()), "gone"),
    "the application is deleted": ((synced(), differs(WEB), deleted()), "gone"),
    "committed": ((synced(), differs(WEB), synced(B)), "accepted"),
    "committed beside another change": (
        (synced(), differs(WEB), differs(CACHE, revision=B)),
        "accepted",
    ),
}


@pytest.mark.parametrize(("facts", "how"), ENDS.values(), ids=ENDS)
def test_a_drift_ends_with_the_fact_that_removes_the_difference(
    facts: tuple[Fact, ...], how: str
) -> None:
    (drift,) = folded(*facts).all
    assert (drift.object, drift.ended_how) == (WEB, how)
    assert drift.began_at == START + timedelta(seconds=1)
    assert drift.ended_at == START + timedelta(seconds=len(facts) - 1)


LASTS: dict[str, tuple[Fact, ...]] = {
    "nothing was done": (synced(), differs(WEB)),
    "a sync failed": (synced(), differs(WEB), finished(ok=False)),
    "it was looked at again": (synced(), differs(WEB), differs(WEB)),
    "a sync by hand did something else": (
        synced(),
        differs(WEB),
        finished(automated=False),
        differs(WEB),
    ),
    "the list of objects is cut": (synced(), differs(WEB), differs(CACHE, changed=30)),
    "after an automated sync, before any comparison": (finished(), differs(WEB)),
}


@pytest.mark.parametrize("facts", LASTS.values(), ids=LASTS)
def test_a_drift_stays_open_until_a_fact_ends_it(facts: tuple[Fact, ...]) -> None:
    drift = folded(*facts).state.open[WEB]
    assert drift.ended_at is None


NONE: dict[str, tuple[Fact, ...]] = {
    "a commit on its way": (synced(), differs(WEB, revision=B)),
    "a commit that is rolled out": (synced(), differs(WEB, revision=B), finished(B)),
    "never synced": (differs(WEB),),
    "nothing differs": (synced(), synced()),
}


@pytest.mark.parametrize("facts", NONE.values(), ids=NONE)
def test_facts_of_an_application_without_drift_make_no_entry(facts: tuple[Fact, ...]) -> None:
    assert folded(*facts).all == ()


def test_a_drift_gathers_its_fields_and_who_began_it() -> None:
    first = detail(WEB, "spec.replicas", manager="kubectl")
    more = detail(WEB, "spec.replicas", "spec.paused", manager="other")
    drift = folded(
        synced(), differs(WEB, details=(first,)), differs(WEB, details=(more,))
    ).state.open[WEB]
    assert drift.fields == ("spec.replicas", "spec.paused")
    assert drift.actor == "kubectl"


def test_each_object_has_a_drift_of_its_own() -> None:
    result = folded(synced(A), differs(WEB, CACHE), differs(CACHE))
    assert [it.object for it in result.drifts] == [WEB]
    assert list(result.state.open) == [CACHE]
