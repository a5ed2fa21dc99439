"""Rows of the change feed as events: in order of their ids, each with the place it stands in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import RowMapping, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.access.values import ACCOUNT, Place
from service.api.sight import application_place
from service.live.event import Event
from service.store.tables import agents, applications, changes

PAGE = 500
_KEPT = timedelta(seconds=30)
_MOST_PLACES = 10_000

Where = tuple[str, str]
"""An agent's id and a project."""


@dataclass(slots=True, kw_only=True)
class Places:
    """Where an agent's projects belong, remembered for half a minute."""

    _known: dict[Where, tuple[Place, datetime]] = field(default_factory=dict)

    async def of(self, connection: AsyncConnection, where: Where, now: datetime) -> Place:
        known = self._known.get(where)
        if known is not None and known[1] > now:
            return known[0]
        if len(self._known) >= _MOST_PLACES:
            self._known.clear()
        agent, project = where
        place = await application_place(connection, agent, project, {}) if agent else ACCOUNT
        self._known[where] = (place, now + _KEPT)
        return place


async def events_after(
    connection: AsyncConnection, account: str, cursor: int, places: Places, now: datetime
) -> Sequence[Event]:
    """At most a page."""
    query = (
        select(changes, agents.c.environment, agents.c.region)
        .outerjoin(agents, agents.c.id == changes.c.agent_id)
        .where(changes.c.account_id == account, changes.c.id > cursor)
        .order_by(changes.c.id)
        .limit(PAGE)
    )
    found = [_event(row) for row in (await connection.execute(query)).mappings()]
    labels = await _labels(connection, {(it.agent, it.about) for it in found if it.agent})
    placed: list[Event] = []
    for event in found:
        place = await places.of(connection, (event.agent, event.project), now)
        named = labels.get((event.agent, event.about))
        place = place if named is None else msgspec.structs.replace(place, labels=named)
        placed.append(msgspec.structs.replace(event, place=place))
    return placed


async def newest(connection: AsyncConnection, account: str) -> int:
    query = select(func.max(changes.c.id)).where(changes.c.account_id == account)
    return int(await connection.scalar(query) or 0)


async def is_kept(connection: AsyncConnection, account: str, number: int) -> bool:
    """Whether nothing after `number` was thrown away: the row itself is still there."""
    query = select(changes.c.id).where(changes.c.account_id == account, changes.c.id == number)
    return number == 0 or await connection.scalar(query) is not None


async def _labels(
    connection: AsyncConnection, wanted: set[tuple[str, str]]
) -> Mapping[tuple[str, str], dict[str, str]]:
    """Of the applications that events are about; what is gone has none."""
    table = applications.c
    named = [
        and_(table.agent_id == agent, table.namespace == space, table.name == name)
        for agent, subject in wanted
        for space, slash, name in [subject.partition("/")]
        if slash
    ]
    if not named:
        return {}
    query = select(table.agent_id, table.namespace, table.name, table.labels).where(or_(*named))
    rows = await connection.execute(query)
    return {(row.agent_id, f"{row.namespace}/{row.name}"): row.labels for row in rows}


def _event(row: RowMapping) -> Event:
    body: dict[str, Any] = row["body"]
    return Event(
        id=row["id"],
        account=row["account_id"],
        type=row["type"],
        subject=row["subject"],
        agent=row["agent_id"],
        project=row["project"],
        time=row["time"],
        body=body,
        environment=row["environment"] or "",
        region=row["region"] or "",
    )
