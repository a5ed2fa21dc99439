"""Rows of the change feed as events: ordered by id, each with its resource scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.access.decision import ACCOUNT, ResourceScope
from service.access.visibility import application_scope
from service.live.change_event import ChangeEvent
from service.store.rows import read_rows
from service.store.tables import agents, applications, changes

PAGE = 500
_KEPT = timedelta(seconds=30)
_MOST_PLACES = 10_000

AgentProject = tuple[str, str]
"""An agent's id and a project."""


@dataclass(slots=True, kw_only=True)
class AgentScopes:
    """Where an agent's projects belong, remembered for half a minute."""

    _known: dict[AgentProject, tuple[ResourceScope, datetime]] = field(default_factory=dict)

    async def of(
        self, connection: AsyncConnection, project_key: AgentProject, now: datetime
    ) -> ResourceScope:
        known = self._known.get(project_key)
        if known is not None and known[1] > now:
            return known[0]
        if len(self._known) >= _MOST_PLACES:
            self._known.clear()
        agent, project = project_key
        scope = await application_scope(connection, agent, project, {}) if agent else ACCOUNT
        self._known[project_key] = (scope, now + _KEPT)
        return scope


class ChangeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A change with the environment and region of its agent; None where the agent is gone."""

    id: int
    account_id: str
    type: str
    subject: str
    agent_id: str
    project: str
    time: datetime
    body: dict[str, Any]
    environment: str | None
    region: str | None


async def events_after(
    connection: AsyncConnection, account: str, cursor: int, scopes: AgentScopes, now: datetime
) -> Sequence[ChangeEvent]:
    """Read at most a page of events after the cursor."""
    query = (
        select(changes, agents.c.environment, agents.c.region)
        .outerjoin(agents, agents.c.id == changes.c.agent_id)
        .where(changes.c.account_id == account, changes.c.id > cursor)
        .order_by(changes.c.id)
        .limit(PAGE)
    )
    found = [_event(row) for row in await read_rows(connection, query, ChangeRow)]
    labels = await _labels(connection, {(it.agent, it.about) for it in found if it.agent})
    placed: list[ChangeEvent] = []
    for event in found:
        scope = await scopes.of(connection, (event.agent, event.project), now)
        named = labels.get((event.agent, event.about))
        scope = scope if named is None else msgspec.structs.replace(scope, labels=named)
        placed.append(msgspec.structs.replace(event, scope=scope))
    return placed


async def newest(connection: AsyncConnection, account: str) -> int:
    query = select(func.max(changes.c.id)).where(changes.c.account_id == account)
    return int(await connection.scalar(query) or 0)


async def is_kept(connection: AsyncConnection, account: str, number: int) -> bool:
    """Tell whether nothing after `number` was deleted: the row itself is still there."""
    query = select(changes.c.id).where(changes.c.account_id == account, changes.c.id == number)
    return number == 0 or await connection.scalar(query) is not None


async def _labels(
    connection: AsyncConnection, subjects: set[tuple[str, str]]
) -> Mapping[tuple[str, str], dict[str, str]]:
    """Of the applications that events are about; what is gone has none."""
    table = applications.c
    named = [
        and_(table.agent_id == agent, table.namespace == space, table.name == name)
        for agent, subject in subjects
        for space, slash, name in [subject.partition("/")]
        if slash
    ]
    if not named:
        return {}
    query = select(table.agent_id, table.namespace, table.name, table.labels).where(or_(*named))
    rows = await connection.execute(query)
    return {(row.agent_id, f"{row.namespace}/{row.name}"): row.labels for row in rows}


def _event(row: ChangeRow) -> ChangeEvent:
    return ChangeEvent(
        id=row.id,
        account=row.account_id,
        type=row.type,
        subject=row.subject,
        agent=row.agent_id,
        project=row.project,
        time=row.time,
        body=row.body,
        environment=row.environment or "",
        region=row.region or "",
    )
