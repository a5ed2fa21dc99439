"""One line and one JSON shape of an event, whether it came from the bus or from the service."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from bus.envelope import Envelope
from bus.events import Event, Fact
from bus.events.examples import example_of
from bus.events.registry import event_types, wire_type
from bus.events.sentences import sentence_of
from cli.events import entry_of
from cli.far.sse import Told
from cli.far.timeline_entries import of_event, of_fact
from cli.timeline import CHANGE_TYPES, TimelineEntry, TimelinePrinter, sentence
from service.live import event as live_event
from tests.cli.conftest import Gitops

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
FACTS = tuple(it for it in event_types() if issubclass(it, Fact))


def envelope(event: Event, **more: Any) -> Envelope:
    known = {"id": "e1", "source": "/gitops/acme/prod", "subject": "argocd/shop", "time": NOW}
    return Envelope(**{**known, "type": wire_type(event), "correlation": "c1", **more})


def as_service_tells(event: Event) -> TimelineEntry:
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
    bus, service = entry_of(envelope(event), event).structured, as_service_tells(event).structured
    names = ("specversion", "id", "type", "subject", "time", "datacontenttype", "correlation")
    assert {it: bus[it] for it in names} == {it: service[it] for it in names}
    assert msgspec.json.encode(bus["data"]) == msgspec.json.encode(service["data"])


@pytest.mark.parametrize("kind", FACTS, ids=lambda it: it.name)
def test_a_fact_has_the_same_line_from_bus_and_service(kind: type[Event]) -> None:
    event = example_of(kind)
    bus = TimelinePrinter().line(entry_of(envelope(event), event))
    assert bus == TimelinePrinter().line(as_service_tells(event))
    assert bus.endswith(sentence_of(event))


@pytest.mark.parametrize("kind", FACTS, ids=lambda it: it.name)
def test_every_fact_has_a_sentence(kind: type[Event]) -> None:
    said = sentence_of(example_of(kind))
    assert said != kind.name
    assert "[" not in said
    assert "sha256:" not in said


def test_a_line_tells_the_milliseconds_since_the_step_before_of_its_chain() -> None:
    printer = TimelinePrinter()
    event = example_of(FACTS[0])
    first = printer.line(entry_of(envelope(event), event))
    other = printer.line(entry_of(envelope(event, correlation="c2"), event))
    later = envelope(event, time=NOW + timedelta(milliseconds=12))
    assert "ms" not in first + other
    assert " +12 ms " in printer.line(entry_of(later, event))


def test_what_others_wrote_cannot_command_the_terminal() -> None:
    event = Told(name="task.changed", id="9", data={"body": {"kind": "sync", "message": "\x1b[2J"}})
    assert "\x1b" not in TimelinePrinter().line(of_event(event))


@pytest.mark.parametrize(
    ("type_", "body", "said"),
    [
        ("application.changed", {"sync": "Synced", "health": "Healthy"}, "Synced, Healthy"),
        (
            "task.changed",
            {"kind": "sync", "phase": "failed", "message": "no"},
            "task sync failed: no",
        ),
        ("drift.began", {"object": "apps/Deployment/a/b", "actor": "jo"}, "drift began: apps/"),
        ("object.changed", {"kind": "AppProject", "deleted": True}, "AppProject removed"),
        ("later.thing", {"word": "x", "list": [1]}, "later.thing word=x"),
    ],
)
def test_a_change_of_the_service_is_a_sentence(type_: str, body: dict[str, Any], said: str) -> None:
    assert sentence(of_event(Told(name=type_, data={"body": body}))).startswith(said)


def test_the_types_of_the_change_feed_are_those_of_the_service() -> None:
    assert {*CHANGE_TYPES, "fact"} == {*live_event._OF_TYPE, "object.changed"}


@pytest.mark.parametrize(
    ("types", "fits"),
    [((), True), (("fact",), True), (("app",), True), (("app.comp",), False), (("drift",), False)],
)
def test_types_match_whole_words(types: tuple[str, ...], fits: bool) -> None:  # noqa: FBT001  a case
    entry = TimelineEntry(id="1", source="x", type="fact.app.compared.v1", subject="", time=None)
    assert entry.fits(types) is fits


@pytest.mark.parametrize("given", ["nope", "app.comparred", "audit,nope"])
def test_a_type_that_no_event_has_is_wrong_usage(gitops: Gitops, given: str) -> None:
    ran = gitops("events", "--type", given, "--nats", "nats://127.0.0.1:1")
    assert (ran.code, ran.out) == (2, "")
    assert "--type: no event begins with" in ran.err
