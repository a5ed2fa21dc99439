"""What the service tells of, as entries of the timeline. Pure.

A fact of the timeline and the same fact in the change feed are the same entry, by the fact's id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cli.far.sse import Told
from cli.far.text import moment
from cli.timeline import FACT, TimelineEntry

_FACT = "fact"


def of_event(event: Told) -> TimelineEntry:
    """Of the change feed; `position` is what --last-event-id takes."""
    data = event.data
    body = data.get("body") or {}
    told = {**data, "type": event.name, "body": body}
    if event.name == _FACT:
        told = {**body, "type": _wire_type(body)}
    extensions = {"project": data.get("project"), "position": event.id}
    return _entry(str(data.get("agent") or ""), told, str(body.get("id") or event.id), extensions)


def of_fact(fact: Mapping[str, Any]) -> TimelineEntry:
    """Of the timeline, which has no position in the change feed."""
    id_ = str(fact.get("eventId") or fact["id"])
    told = {**fact, "type": _wire_type(fact)}
    return _entry(str(fact["agent"]), told, id_, {"project": fact["project"]})


def _wire_type(fact: Mapping[str, Any]) -> str:
    """The timeline tells a fact's type without its kind, the change feed with it."""
    return FACT + str(fact.get("type", "")).removeprefix(FACT)


def _entry(
    agent: str, told: Mapping[str, Any], id_: str, more: Mapping[str, object]
) -> TimelineEntry:
    return TimelineEntry(
        id=id_,
        source=f"/agents/{agent}",
        type=str(told.get("type", "")),
        subject=str(told.get("subject", "")),
        time=moment(str(told.get("time") or "")),
        correlation=str(told.get("correlation") or ""),
        data=told.get("body") or {},
        more={name: str(it) for name, it in more.items() if it},
    )
