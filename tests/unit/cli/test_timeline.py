"""One line and one JSON shape of an event, whether it came from the bus or from the service."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from bus.envelope import Envelope
from bus.events import (
    Event,
    Fact,
    HealthAssessed,
    OperationFinished,
    OperationStarted,
    ResourcesApplied,
)
from bus.events.event import event_types, recorded_event, wire_type
from bus.events.examples import example_of
from cli.events import entry_of
from cli.remote.change_waiting import ServerEvent
from cli.remote.events import of_event, of_fact
from cli.timeline import CHANGE_TYPES, TimelineEntry, TimelinePrinter, sentence
from service.live import change_event as live_event
from tests.golden import assert_golden
from tests.unit.cli.conftest import Gitops

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
CAUSE = {
    "object": "/Pod/shop/web-1-x",
    "health": "Degraded",
    "reason": "ImagePullBackOff",
    "message": "not found",
}
REFUSED = {"status": "SyncFailed", "message": "immutable"}
FACTS = tuple(it for it in event_types() if issubclass(it, Fact))


def envelope(event: Event, **more: Any) -> Envelope:
    known = {"id": "e1", "source": "/gitops/acme/prod", "subject": "argocd/shop", "time": NOW}
    return Envelope(**{**known, "type": wire_type(event), "correlation": "c1", **more})


def as_service_reports(event: Event) -> TimelineEntry:
    return of_fact(
        {
            "id": "7",
            "eventId": "e1",
            "agent": "a1",
            "type": event.name,
            "subject": "argocd/shop",
            "project": "default",
            "correlation": "c1",
            "time": NOW.isoformat(),
            "body": msgspec.json.decode(msgspec.json.encode(event)),
        }
    )


@pytest.mark.parametrize("kind", FACTS, ids=lambda it: it.name)
def test_a_fact_has_the_same_json_from_bus_and_service(kind: type[Event]) -> None:
    event = example_of(kind)
    bus, service = entry_of(envelope(event), event).structured, as_service_reports(event).structured
    names = ("specversion", "id", "type", "subject", "time", "datacontenttype", "correlation")
    assert {it: bus[it] for it in names} == {it: service[it] for it in names}
    assert msgspec.json.encode(bus["data"]) == msgspec.json.encode(service["data"])


@pytest.mark.parametrize("kind", FACTS, ids=lambda it: it.name)
def test_a_fact_has_the_same_line_from_bus_and_service(kind: type[Event]) -> None:
    event = example_of(kind)
    bus = TimelinePrinter().line(entry_of(envelope(event), event))
    assert bus == TimelinePrinter().line(as_service_reports(event))
    assert bus.endswith(event.sentence)


@pytest.mark.parametrize("kind", FACTS, ids=lambda it: it.name)
def test_every_fact_has_a_sentence(kind: type[Event]) -> None:
    expected = example_of(kind).sentence
    assert expected != kind.name
    assert "[" not in expected
    assert "sha256:" not in expected


CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "of an application": ("application.changed", {"sync": "Synced", "health": "Healthy"}),
    "of a task": ("task.changed", {"kind": "sync", "phase": "failed", "message": "no"}),
    "of a drift": ("drift.began", {"object": "apps/Deployment/a/b", "actor": "jo"}),
    "of an object": ("object.changed", {"kind": "AppProject", "deleted": True}),
    "of a later version": ("later.thing", {"word": "x", "list": [1]}),
}


OUTCOMES: dict[str, tuple[type[Event], dict[str, Any]]] = {
    "rollback by a person": (OperationStarted, {"operation_kind": "rollback"}),
    "self-heal by a person": (OperationStarted, {"operation_kind": "self-heal"}),
    "sync by a person": (OperationStarted, {}),
    "automated sync": (OperationStarted, {"automated": True}),
    "sync that succeeded": (OperationFinished, {"phase": "Succeeded", "seconds": 2.4}),
    "sync that failed": (OperationFinished, {"phase": "Failed", "message": "no"}),
    "sync that could not start": (OperationFinished, {"phase": "Error", "message": "no"}),
    "illness with its cause": (
        HealthAssessed,
        {"before": "Healthy", "status": "Degraded", "cause": CAUSE, "message": "Caused by Pod"},
    ),
    "object that was refused": (
        ResourcesApplied,
        {"applied": 1, "failed": [{"resource": "apps/Deployment/shop/web", **REFUSED}]},
    ),
}


def sentence_of(kind: type[Event], body: dict[str, Any]) -> str:
    values = {"operation": "o1", "revision": "v1", "initiated_by": "mira", **body}
    values |= {"app": {"namespace": "argocd", "name": "shop"}, "project": "default"}
    fact = recorded_event(wire_type(kind), values)
    assert fact is not None
    return fact.sentence


def test_the_sentences_of_facts_and_changes_are_those_of_the_golden_file() -> None:
    examples = {kind.name: example_of(kind).sentence for kind in FACTS}
    outcomes = {name: sentence_of(*case) for name, case in OUTCOMES.items()}
    changes = {
        f"change {name}": sentence(of_event(ServerEvent(name=type_, data={"body": body})))
        for name, (type_, body) in CHANGES.items()
    }
    assert_golden("timeline", examples | outcomes | changes)


def test_a_line_tells_the_milliseconds_since_the_step_before_of_its_chain() -> None:
    printer = TimelinePrinter()
    event = example_of(FACTS[0])
    first = printer.line(entry_of(envelope(event), event))
    other = printer.line(entry_of(envelope(event, correlation="c2"), event))
    later = envelope(event, time=NOW + timedelta(milliseconds=12))
    assert "ms" not in first + other
    assert " +12 ms " in printer.line(entry_of(later, event))


def test_what_others_wrote_cannot_command_the_terminal() -> None:
    event = ServerEvent(
        name="task.changed", id="9", data={"body": {"kind": "sync", "message": "\x1b[2J"}}
    )
    assert "\x1b" not in TimelinePrinter().line(of_event(event))


def test_the_types_of_the_change_feed_are_those_of_the_service() -> None:
    assert {*CHANGE_TYPES, "fact"} == {*live_event._OF_TYPE, "object.changed"}


@pytest.mark.parametrize(
    ("types", "fits"),
    [((), True), (("fact",), True), (("app",), True), (("app.comp",), False), (("drift",), False)],
)
def test_types_match_whole_words(types: tuple[str, ...], fits: bool) -> None:  # noqa: FBT001  a case
    entry = TimelineEntry(id="1", source="x", type="fact.app.compared.v1", subject="", time=None)
    assert entry.fits(types) is fits


@pytest.mark.parametrize("type_name", ["nope", "app.comparred", "audit,nope"])
def test_a_type_that_no_event_has_is_wrong_usage(gitops: Gitops, type_name: str) -> None:
    ran = gitops("events", "--type", type_name, "--nats", "nats://127.0.0.1:1")
    assert (ran.code, ran.out) == (2, "")
    assert "--type: no event begins with" in ran.err
