"""The kinds of tasks that an agent does, by the capabilities that its newest Hello named.

An agent ignores a task of a kind that it does not know, and the task would end as `unknown`. So the
service refuses it at once. An agent that has not connected yet, or that names no kinds as version
0.1 does, is asked for every kind.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link import TaskKind
from service.store.rows import find_row
from service.store.tables import agents

UPGRADE = "Upgrade the agent, at best to the version of this service; then ask again."
_PREFIX = "task."


class UnsupportedTaskError(Exception):
    """The agent does not do tasks of this kind; the message names it, the kind and its version."""


class AgentTaskKinds(msgspec.Struct, frozen=True, kw_only=True):
    """An agent with what it said of itself when it connected last."""

    name: str
    agent_version: str
    capabilities: list[str]

    def supports(self, kind: TaskKind) -> bool:
        named = [it for it in self.capabilities if it.startswith(_PREFIX)]
        return not named or f"{_PREFIX}{kind}" in named

    def refusal(self, kind: TaskKind) -> str:
        """Say why a task of an unsupported kind is refused."""
        version = (
            f"of version {self.agent_version}" if self.agent_version else "of no known version"
        )
        return f"agent {self.name} {version} does not do tasks of kind {kind}"


async def agent_task_kinds(connection: AsyncConnection, agent_id: str) -> AgentTaskKinds | None:
    """Read what the agent named; None where there is no such agent."""
    query = select(agents.c.name, agents.c.agent_version, agents.c.capabilities)
    return await find_row(connection, query.where(agents.c.id == agent_id), AgentTaskKinds)


async def check_supported(connection: AsyncConnection, agent_id: str, kind: TaskKind) -> None:
    """Raise UnsupportedTaskError where the agent names kinds of tasks, and this one not."""
    known = await agent_task_kinds(connection, agent_id)
    if known is not None and not known.supports(kind):
        raise UnsupportedTaskError(known.refusal(kind))
