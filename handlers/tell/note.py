"""A note: the facts that a write to an Application is about, written together with it.

A status and the fact about it live in two systems, and a process can die between them. So the fact
is put down where the status is, in the same write; whoever acts next compares the note with what
the bus has heard. The last note stays: taking it away would cost a write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from bus.events import (
    Event,
    HealthAssessed,
    OperationFinished,
    OperationStarted,
    ResourcesApplied,
)
from bus.events.facts import AppFact
from bus.events.registry import UnknownTypeError, event_type, wire_type
from handlers.application.application import Application

ANNOTATION = "gitops-house.io/said"
NOTED = (OperationStarted, ResourcesApplied, OperationFinished, HealthAssessed)
"""Facts that follow from a write and from nothing else. All others are found again by looking."""

_LONGEST = 32 * 1024
"""Kubernetes gives all annotations of an object 256 KiB."""


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    """A moment before the write."""
    facts: tuple[AppFact, ...]


def note_of(events: Iterable[Event], at: datetime) -> str:
    """The annotation's value; empty where nothing has to be noted."""
    facts = [event for event in events if isinstance(event, NOTED)]
    if not facts:
        return ""
    whole = _written(facts, at)
    if len(whole) <= _LONGEST:
        return whole
    return _written([one for one in facts if not isinstance(one, ResourcesApplied)], at)


def noted(app: Application) -> Noted | None:
    """None without a note, or with one that we cannot have written."""
    text = app.metadata.annotations.get(ANNOTATION, "")
    if not text or len(text) > _LONGEST:
        return None
    try:
        note = _DECODER.decode(text)
        return Noted(at=note.at, facts=tuple(_facts(note, app)))
    except (msgspec.DecodeError, UnknownTypeError):
        return None


class _Entry(msgspec.Struct, frozen=True):
    type: str
    fact: msgspec.Raw


class _Note(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    facts: tuple[_Entry, ...]


def _written(facts: Iterable[AppFact], at: datetime) -> str:
    entries = tuple(_Entry(wire_type(one), msgspec.Raw(_ENCODER.encode(one))) for one in facts)
    return _ENCODER.encode(_Note(at=at, facts=entries)).decode()


def _facts(note: _Note, app: Application) -> Iterator[AppFact]:
    for entry in note.facts:
        fact = msgspec.json.decode(entry.fact, type=event_type(entry.type))
        if isinstance(fact, NOTED) and fact.app == app.key:
            yield fact


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_Note)
