"""Objects as agents told them, of the epoch that is believed: repositories, keys, projects.

They have no table of their own. The id of one is made of its agent, kind and subject, so it is
found by making the ids of those that there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import RowMapping, Select, and_, select

from bus.ids import derived_id
from service.api.call import Call
from service.api.problem import not_found
from service.store.tables import agents, epochs, objects


def selected(kind: str) -> Select[Any]:
    """With the columns of their agent."""
    return _of_believed(
        select(
            objects,
            agents.c.name.label("agent_name"),
            agents.c.state.label("agent_state"),
            agents.c.heard_at.label("agent_heard_at"),
            agents.c.connected.label("agent_connected"),
            agents.c.environment.label("agent_environment"),
            agents.c.region.label("agent_region"),
            agents.c.organisation_id,
            agents.c.project_id,
        ),
        kind,
    )


def id_of(row: RowMapping | Mapping[str, Any]) -> str:
    return derived_id(f"object {row['agent_id']} {row['kind']} {row['subject']}")


async def find(call: Call, kind: str) -> RowMapping:
    """The one of the path's id; whether the caller may see it is not asked here."""
    keys = _of_believed(select(objects.c.agent_id, objects.c.kind, objects.c.subject), kind)
    keys = keys.where(agents.c.account_id == call.account)
    for key in (await call.connection.execute(keys)).mappings():
        if id_of(key) == call.id:
            mine = [objects.c[name] == key[name] for name in ("agent_id", "subject")]
            found = await call.connection.execute(selected(kind).where(*mine))
            row: RowMapping = found.mappings().one()
            return row
    raise not_found(f"{kind} {call.id}")


def _of_believed(query: Select[Any], kind: str) -> Select[Any]:
    believed = and_(epochs.c.agent_id == objects.c.agent_id, epochs.c.epoch == objects.c.epoch)
    return (
        query.select_from(objects)
        .join(agents, agents.c.id == objects.c.agent_id)
        .join(epochs, believed)
        .where(epochs.c.state == "active", objects.c.kind == kind)
    )
