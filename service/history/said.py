"""Facts as they lie in the table -> typed facts in the order of what happened. Pure.

Agents of other versions may say more, less or other things: what cannot be read takes no part in
the ledger, and stays in the timeline as it came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from bus.events import Fact
from bus.events.registry import UnknownTypeError, event_type
from service.projection.values import FactRow

_PREFIX = "fact."


class Said(msgspec.Struct, frozen=True, kw_only=True):
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


def said(agent: str, row: FactRow) -> Said | None:
    fact = fact_of(row.type, row.body)
    if fact is None:
        return None
    return Said(
        agent=agent,
        time=row.time,
        id=row.event_id,
        subject=row.subject,
        project=row.project,
        fact=fact,
    )


def in_order(agent: str, rows: Iterable[FactRow]) -> tuple[Said, ...]:
    found = (said(agent, row) for row in rows)
    return tuple(sorted((it for it in found if it is not None), key=lambda it: it.order))


def fact_of(wire_type: str, body: Mapping[str, Any]) -> Fact | None:
    """None where this version does not know the type, or the body is not of it."""
    try:
        known = event_type(wire_type)
        found = msgspec.convert(dict(body), known)
    except (UnknownTypeError, msgspec.ValidationError):
        return None
    return found if isinstance(found, Fact) else None


def short(wire_type: str) -> str:
    """As people read it: `app.compared.v1`."""
    return wire_type.removeprefix(_PREFIX)


def whole(said: str) -> str:
    """The wire type, as it is stored, of what somebody wrote with or without its kind."""
    return _PREFIX + short(said.strip())
