"""Recorded facts: rows of the table as typed facts, in the order in which they happened. Pure.

Agents of other versions may report more, less or other things: what cannot be read takes no part in
the ledger, and stays in the timeline as it came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from bus.events import Fact
from bus.events.event import UnknownTypeError, event_type
from service.projection.batch import FactRow

_PREFIX = "fact."


class RecordedFact(msgspec.Struct, frozen=True, kw_only=True):
    """`id` breaks ties of time: ids of one agent sort by time too."""

    agent: str
    time: datetime
    id: str
    subject: str
    project: str
    fact: Fact

    @property
    def order(self) -> tuple[datetime, str]:
        return self.time, self.id


def recorded(agent: str, row: FactRow) -> RecordedFact | None:
    fact = fact_of(row.type, row.body)
    if fact is None:
        return None
    return RecordedFact(
        agent=agent,
        time=row.time,
        id=row.event_id,
        subject=row.subject,
        project=row.project,
        fact=fact,
    )


def in_order(agent: str, rows: Iterable[FactRow]) -> tuple[RecordedFact, ...]:
    found = (recorded(agent, row) for row in rows)
    return tuple(sorted((it for it in found if it is not None), key=lambda it: it.order))


def fact_of(wire_type: str, body: Mapping[str, Any]) -> Fact | None:
    """Decode a fact; None where this version does not know the type, or the body is not of it."""
    try:
        known = event_type(wire_type)
        found = msgspec.convert(dict(body), known)
    except (UnknownTypeError, msgspec.ValidationError):
        return None
    return found if isinstance(found, Fact) else None


def short(wire_type: str) -> str:
    """Shorten a wire type as people read it: `app.compared.v1`."""
    return wire_type.removeprefix(_PREFIX)


def whole(text: str) -> str:
    """Complete a type that was written with or without its kind to the stored wire type."""
    return _PREFIX + short(text.strip())
