"""The end of a push at one application, read from the facts of its correlation. Pure.

A push that could not be rendered has ended, as has a push that changed nothing here or waits for a
person to sync it; only what may still move by itself is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import replace

from bus.events import (
    Compared,
    HealthAssessed,
    OperationFinished,
    RenderFailed,
    ResourcesApplied,
    SyncSkipped,
)
from bus.events.event import wire_type
from bus.events.sentences import object_in_words
from bus.status import OperationPhase, SyncStatus


class PushOutcome(StrEnum):
    SYNCED = "synced"
    FAILED = "failed"
    """It could not be rendered, or its sync failed; `message` says why."""
    HELD = "held"
    """It is rendered and compared, and waits for a person to sync it."""
    SUPERSEDED = "superseded"
    """A later push came before this one had ended."""
    RUNNING = "running"


class PushFact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact as the table has it."""

    type: str
    time: datetime
    body: Mapping[str, Any]


class PushEnd(msgspec.Struct, frozen=True, kw_only=True):
    outcome: PushOutcome = PushOutcome.RUNNING
    time: datetime | None = None
    message: str = ""


def push_end(facts: Sequence[PushFact]) -> PushEnd:
    """Find the end of a push: of the facts in order of time, the last that says an end counts."""
    end = PushEnd()
    for one in facts:
        end = _after(end, one)
    return end


def _after(end: PushEnd, one: PushFact) -> PushEnd:
    read = _READ.get(one.type)
    found = read(end, one.body) if read is not None else None
    return replace(found, time=one.time) if found is not None else end


Read = Callable[[PushEnd, Mapping[str, Any]], PushEnd | None]
"""What a fact makes of the end so far; None: nothing."""


def _not_rendered(_: PushEnd, body: Mapping[str, Any]) -> PushEnd:
    return PushEnd(outcome=PushOutcome.FAILED, message=_message(body))


def _compared(_: PushEnd, body: Mapping[str, Any]) -> PushEnd | None:
    """It changed nothing here, or what it changed is there already."""
    return _SYNCED if body.get("status") == SyncStatus.SYNCED else None


def _skipped(_: PushEnd, body: Mapping[str, Any]) -> PushEnd:
    return PushEnd(outcome=PushOutcome.HELD, message=_message(body))


def _applied(_: PushEnd, body: Mapping[str, Any]) -> PushEnd | None:
    """`Deployment web: spec.replicas ...`, of the first object that was refused."""
    refused = next(iter(body.get("failed") or ()), None)
    if not isinstance(refused, Mapping):
        return None
    named = object_in_words(str(refused.get("resource") or ""))
    message = f"{named}: {_message(refused)}".strip(": ")
    return PushEnd(outcome=PushOutcome.FAILED, message=message)


def _finished(end: PushEnd, body: Mapping[str, Any]) -> PushEnd:
    if body.get("phase") == OperationPhase.SUCCEEDED:
        return _SYNCED
    return PushEnd(outcome=PushOutcome.FAILED, message=end.message or _message(body))


def _assessed(end: PushEnd, _: Mapping[str, Any]) -> PushEnd | None:
    """A push that is synced ends when its objects are as healthy as they get."""
    return end if end.outcome is PushOutcome.SYNCED else None


def _message(body: Mapping[str, Any]) -> str:
    return str(body.get("message") or "")


_SYNCED = PushEnd(outcome=PushOutcome.SYNCED)
_READ: Mapping[str, Read] = {
    wire_type(RenderFailed): _not_rendered,
    wire_type(Compared): _compared,
    wire_type(SyncSkipped): _skipped,
    wire_type(ResourcesApplied): _applied,
    wire_type(OperationFinished): _finished,
    wire_type(HealthAssessed): _assessed,
}
