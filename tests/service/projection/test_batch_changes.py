"""Items -> rows, as values: what is kept, what is left out, since when something is so."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.link import LinkItem, StateBody
from service.projection.applications import StateChangeTimes, application_id
from service.projection.batch import BatchScope, read
from service.projection.batch_changes import FACT_KIND, BatchChanges, reduce
from service.projection.writer import take
from tests.service.fake_agent import FakeOutbox, application

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SCOPE = BatchScope(
    account_id="a", agent_id="g", agent="prod", environment="prod", region="eu", epoch="e"
)
QUARANTINED = msgspec.structs.replace(SCOPE, quarantined=True)


def reduced(
    *items: LinkItem, scope: BatchScope = SCOPE, before: dict[str, StateChangeTimes] | None = None
) -> BatchChanges:
    return reduce(scope, read(items, NOW), before or {}, NOW)


def row(**more: Any) -> dict[str, Any]:
    (found,) = reduced(FakeOutbox().state(application("shop", **more))).applications
    return found


def test_the_newest_state_of_an_object_is_written_once() -> None:
    outbox = FakeOutbox()
    states = [outbox.state(application("shop", health=it)) for it in ("Degraded", "Healthy")]
    written = reduced(*states)
    assert [it["health"] for it in written.applications] == ["Healthy"]
    assert len(written.objects) == len(written.changes) == 1


def test_a_tombstone_after_a_state_leaves_nothing() -> None:
    outbox = FakeOutbox()
    written = reduced(outbox.state(application("shop")), outbox.gone("Application", "argocd/shop"))
    assert (written.applications, written.objects) == ([], [])
    assert written.gone == [("Application", "argocd/shop")]
    assert [it.type for it in written.changes] == ["application.removed"]


def test_an_object_that_came_back_lives() -> None:
    outbox = FakeOutbox()
    first = outbox.state(application("shop"))
    gone = outbox.gone("Application", "argocd/shop")
    written = reduced(first, gone, outbox.state(application("shop")))
    assert (len(written.applications), written.gone) == (1, [])


@pytest.mark.parametrize(
    ("labels", "environment", "service"),
    [
        ({}, "prod", ""),
        ({"plumbline.dev/environment": "test", "plumbline.dev/service": "cart"}, "test", "cart"),
        ({"gitops.house/environment": "test", "gitops.house/service": "cart"}, "test", "cart"),
    ],
    ids=["of the agent", "of the labels", "of the former labels"],
)
def test_environment_and_service_are_read_from_labels(
    labels: dict[str, str], environment: str, service: str
) -> None:
    found = row(labels=labels)
    assert (found["environment"], found["service"]) == (environment, service)


def test_since_survives_as_long_as_the_value_does() -> None:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    before = StateChangeTimes(
        sync="Synced", health="Degraded", sync_since=began, health_since=began
    )
    item = FakeOutbox().state(application("shop"), time="2026-11-21T10:00:00Z")
    (found,) = reduced(item, before={"argocd/shop": before}).applications
    assert found["sync_since"] == began
    assert found["health_since"] == datetime(2026, 11, 21, 10, tzinfo=UTC)


def test_health_that_went_and_came_within_a_batch_begins_anew() -> None:
    outbox, began = FakeOutbox(), datetime(2026, 1, 1, tzinfo=UTC)
    before = StateChangeTimes(sync="Synced", health="Healthy", sync_since=began, health_since=began)
    items = [
        outbox.state(application("shop", health=word), time=f"2026-11-21T10:0{n}:00Z")
        for n, word in enumerate(("Degraded", "Healthy"))
    ]
    (found,) = reduced(*items, before={"argocd/shop": before}).applications
    assert found["health_since"] == datetime(2026, 11, 21, 10, 1, tzinfo=UTC)


def test_of_a_quarantined_epoch_nothing_is_shown_and_nothing_is_lost() -> None:
    outbox = FakeOutbox()
    fact = outbox.fact("fact.app.compared.v1", "argocd/shop", {"x": 1})
    written = reduced(outbox.state(application("shop")), fact, scope=QUARANTINED)
    assert (written.applications, written.facts, written.changes) == ([], [], [])
    assert {it["kind"] for it in written.objects} == {"Application", FACT_KIND}


def test_facts_are_never_merged() -> None:
    outbox = FakeOutbox()
    written = reduced(*(outbox.fact("f.v1", "argocd/shop", {}) for _ in range(3)))
    assert len(written.facts) == len(written.changes) == 3


def test_a_component_becomes_part_of_its_agent() -> None:
    body = StateBody(
        kind="Component", namespace="argocd", name="nats", status={"status": "healthy"}
    )
    written = reduced(FakeOutbox().state(body))
    assert written.components["nats"] == {
        "name": "nats",
        "status": "healthy",
        "message": "",
        "version": "",
    }


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({"source": 7, "sources": "x", "syncPolicy": []}, {"sync": [], "health": "x"}),
        ({"sources": [{"repoURL": None}]}, {"summary": {"images": {"a": 1}}, "conditions": 3}),
        ({"project": {"a": 1}}, {"sync": {"status": "S" * 900}, "health": {"message": "m" * 9000}}),
    ],
    ids=["wrong types", "nothing in it", "too long"],
)
def test_reported_values_of_any_length_fit_their_columns(
    spec: dict[str, Any], status: dict[str, Any]
) -> None:
    body = StateBody(kind="Application", namespace="argocd", name="x", spec=spec, status=status)
    (found,) = reduced(FakeOutbox().state(body)).applications
    assert len(found["sync"]) <= 16
    assert len(found["health_message"]) <= 4000
    assert isinstance(found["images"], list)


def test_what_cannot_be_read_is_counted_and_left_out() -> None:
    outbox = FakeOutbox()
    bad = msgspec.structs.replace(outbox.state(application("x")), body=msgspec.Raw(b"[1]"))
    long = msgspec.structs.replace(outbox.state(application("y")), subject="s" * 500)
    batch = read([bad, long, outbox.state(application("shop"))], NOW)
    assert (batch.unreadable, len(batch.states)) == (2, 1)


def test_ids_of_applications_are_the_same_everywhere() -> None:
    assert application_id("g", "argocd/shop") == application_id("g", "argocd/shop")
    assert application_id("g", "argocd/shop") != application_id("h", "argocd/shop")


def chain(count: int) -> list[LinkItem]:
    outbox = FakeOutbox()
    return [outbox.fact("f.v1", "s", {}) for _ in range(count)]


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=12))
def test_however_items_arrive_each_is_taken_once_and_in_order(batches: list[list[int]]) -> None:
    """Lost, repeated, reordered: then the rest is sent again from the cursor."""
    items, cursor = chain(10), 0
    seen: list[int] = []
    for batch in batches:
        taken = take(cursor, [items[number] for number in batch])
        cursor, seen = taken.cursor, [*seen, *(it.sequence for it in taken.fresh)]
    taken = take(cursor, items)
    assert [*seen, *(it.sequence for it in taken.fresh)] == list(range(1, 11))
    assert not taken.gap


def test_a_merged_state_leaves_no_gap() -> None:
    items = chain(3)
    merged = msgspec.structs.replace(items[2], before=items[0].sequence)
    taken = take(0, [items[0], merged])
    assert (taken.cursor, taken.gap) == (3, False)


def test_a_missing_item_is_a_gap() -> None:
    items = chain(3)
    taken = take(0, [items[0], items[2]])
    assert (taken.cursor, taken.gap) == (1, True)
