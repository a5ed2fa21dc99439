"""The ledger on a real PostgreSQL: any order, any batches, any repetition end the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bus.events import Fact, OperationStarted
from bus.link import StateBody
from service.history.ledger import LedgerState, fold
from service.history.recorded_facts import RecordedFact
from service.projection.batch import ReportedState
from service.store.tables import audit, drifts, instances
from tests.service.history.ledger_fixture import LedgerFixture, open_ledger_fixture
from tests.service.history.recorded_fact_samples import (
    APP,
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

KINDS: tuple[Fact, ...] = (
    synced(A),
    synced(B),
    differs(WEB, details=(detail(WEB, "spec.replicas", manager="kubectl"),)),
    differs(WEB, CACHE),
    differs(CACHE, changed=20),
    differs(WEB, revision=B),
    finished(A),
    finished(A, automated=False),
    finished(B, ok=False),
    deleted(),
)


@pytest.fixture
async def book(database_url: str) -> AsyncIterator[LedgerFixture]:
    async with open_ledger_fixture(database_url) as opened:
        yield opened


@given(data=st.data())
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_order_of_facts_ends_the_same_ledger(database_url: str, data: Any) -> None:
    facts = data.draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=8))
    recorded = [at(second, fact) for second, fact in enumerate(facts)]
    arrival = data.draw(st.permutations(recorded))
    again = data.draw(st.lists(st.sampled_from(recorded), max_size=3))
    cut = data.draw(st.integers(0, len(recorded)))
    asyncio.run(_same(database_url, recorded, [arrival[:cut], arrival[cut:], again]))


async def _same(
    database_url: str, recorded: list[RecordedFact], batches: list[list[RecordedFact]]
) -> None:
    async with open_ledger_fixture(database_url) as book:
        for batch in batches:
            await book.record(*batch)
        mine = [replace(one, agent=book.scope.agent_id) for one in recorded]
        expected = [
            (it.id, it.object, it.began_at, it.ended_at, it.ended_how, list(it.fields), it.actor)
            for it in sorted(fold(LedgerState(), mine).all, key=lambda it: it.id)
        ]
        found = [
            (it.id, it.object, it.began_at, it.ended_at, it.ended_how, it.fields, it.actor)
            for it in await book.rows(drifts)
        ]
        assert found == expected


async def test_a_drift_is_announced_and_recorded_once(book: LedgerFixture) -> None:
    story = [at(0, synced()), at(1, differs(WEB)), at(2, finished())]
    changes = [change for one in story for change in await book.record(one)]
    repeated = await book.record(*story)
    assert [it.type for it in changes] == ["drift.began", "drift.ended"]
    assert changes[1].body["endedHow"] == "healed"
    assert repeated == []
    actions = [it.action for it in await book.rows(audit, "sequence")]
    assert actions == ["drift.began", "application.synced", "drift.ended"]


async def test_what_ended_stays_ended_where_another_application_repeats_its_past(
    book: LedgerFixture,
) -> None:
    other = [
        replace(at(second, fact), subject="argocd/other", id=f"other-{second}")
        for second, fact in ((0, synced()), (1, differs(WEB)))
    ]
    await book.record(at(2, synced()), at(3, differs(WEB)), at(4, synced()))
    await book.record(*other, at(9, synced()))
    ended = {it.subject: it.ended_at is not None for it in await book.rows(drifts)}
    assert ended == {"argocd/shop": True, "argocd/other": False}


async def test_a_sync_is_recorded_with_who_began_it(book: LedgerFixture) -> None:
    started = OperationStarted(app=APP, operation="op", revision=A, initiated_by="jane")
    await book.record(at(0, started))
    await book.record(at(1, finished(automated=False)))
    (record,) = await book.rows(audit, "sequence")
    assert (record.actor, record.action, record.outcome) == (
        "jane",
        "application.synced",
        "succeeded",
    )
    assert record.source == "agent"


def _instances(*names: str) -> ReportedState:
    pods = [
        {
            "uid": f"uid-{it}",
            "namespace": "shop",
            "name": it,
            "images": ["web:1"],
            "ready": True,
            "startedAt": "2026-11-21T09:00:00Z",
        }
        for it in names
    ]
    return ReportedState(
        kind="Instances",
        subject=str(APP),
        uid="",
        hash="",
        project="default",
        time=START,
        sequence=1,
        body=StateBody(kind="Instances", namespace="argocd", name="shop", status={"pods": pods}),
    )


def _gone(kind: str) -> ReportedState:
    return replace(_instances(), kind=kind, body=None)


async def test_instances_are_those_of_the_newest_report(book: LedgerFixture) -> None:
    await book.record(states=[_instances("web-1", "web-2")])
    await book.record(states=[_instances("web-2", "web-3")])
    rows = await book.rows(instances, "pod")
    assert [(it.pod, it.images, it.ready) for it in rows] == [
        ("web-2", ["web:1"], True),
        ("web-3", ["web:1"], True),
    ]


@pytest.mark.parametrize("kind", ["Application", "Instances"])
async def test_instances_go_with_their_application(book: LedgerFixture, kind: str) -> None:
    await book.record(states=[_instances("web-1")])
    await book.record(states=[_gone(kind)])
    assert await book.rows(instances, "pod") == []
