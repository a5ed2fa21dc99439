"""Agents: what is known of each, and of its link. Changing them: agent_changes.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import RowMapping, Select, func, select

from service.access.permissions import Permission
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Nothing
from service.api.fields import Text, text_of
from service.api.pages import Order, Page, rows_of
from service.api.places import PlaceQuery, in_place
from service.api.problem import DeniedError, ProblemError, not_found
from service.api.sight import agent_place, visible_agents
from service.api.status import AgentStatus, status_of, upgrade_for
from service.keys.bound_rows import is_bound
from service.projection.rebuild import rebuilding
from service.store.tables import agent_keys, agents, applications, epochs

VIEW, EDIT, DELETE = Permission.AGENT_VIEW, Permission.AGENT_EDIT, Permission.AGENT_DELETE


class AgentsQuery(PlaceQuery, frozen=True, kw_only=True):
    search: Text = ""


class Quarantine(Answer, frozen=True, kw_only=True):
    """A new life of the agent's outbox that is not believed yet."""

    epoch: str
    reason: str
    since: str | None


class Deletions(Answer, frozen=True, kw_only=True):
    """So many objects are missing at once that nobody believes it yet."""

    kinds: dict[str, int]
    since: str


class Agent(Answer, frozen=True, kw_only=True):
    id: str
    name: str
    environment: str
    region: str
    labels: dict[str, str]
    organisation: str | None
    project: str | None
    status: AgentStatus
    heard_at: str | None
    connected_at: str | None
    round_trip_ms: int | None
    clock_skew_ms: int | None
    version: str
    """Of the agent's program."""
    upgrade_available: str | None
    """The service's own version where the agent's is older; null: none."""
    capabilities: list[str]
    allowed: dict[str, Any]
    components: list[dict[str, Any]]
    roots_in_step: bool | None
    roots_at: str | None
    applications: int
    quarantined: Quarantine | None
    deletions: Deletions | None
    """Held by the guard against mass deletion: until a second look, or until they are accepted."""
    rebuilding_since: str | None
    """What it tells was dropped, and is being asked for again."""
    edition: int
    """Counts its changes here: what If-Match takes."""


class SealingKey(Answer, frozen=True, kw_only=True):
    """X25519, raw, base64: what is sealed to it, only this agent can open."""

    public_key: str


async def list_agents(call: Call, given: AgentsQuery) -> Page[Agent]:
    """All agents that may be seen, by name."""
    query = _selected().where(visible_agents(call.caller, VIEW))
    query = query.where(*in_place(given, agents.c.environment, agents.c.region))
    if given.search:
        query = query.where(func.strpos(func.lower(agents.c.name), given.search.lower()) > 0)
    order = Order(columns=(agents.c.name,))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/agents")
    return Page(items=[agent_of(row, call) for row in found.rows], next=found.next)


async def get_agent(call: Call, _given: Nothing) -> Agent:
    """One agent."""
    return agent_of(await find(call, VIEW), call)


async def get_sealing_key(call: Call, _given: Nothing) -> SealingKey:
    """The public key that credentials for this agent are sealed to."""
    row = await find(call, VIEW)
    query = (
        select(agent_keys)
        .where(agent_keys.c.agent_id == row["id"], agent_keys.c.retired_at.is_(None))
        .order_by(agent_keys.c.created_at.desc())
        .limit(1)
    )
    key = (await call.connection.execute(query)).mappings().one_or_none()
    if key is None:
        raise not_found(f"key of agent {row['name']}: it is not enrolled")
    if not is_bound(call.tools.parts.keys.ring, agent_keys, key):
        detail = (
            f"the service did not write the key of agent {row['name']}: nothing is sealed to it"
        )
        remedy = "Revoke the agent and enrol it again; an operator finds more in the service's log."
        raise ProblemError(409, detail, rule="unbound-key", remedy=remedy)
    return SealingKey(public_key=key["sealing_key"])


async def find(call: Call, permission: Permission) -> RowMapping:
    row = await row_of(call, call.id)
    place = agent_place(row)
    if not call.may(VIEW, place):
        raise DeniedError(VIEW, f"agent {call.id}", status=404)
    call.require(permission, place, f"agent {row['name']}")
    return row


async def row_of(call: Call, id_: str) -> RowMapping:
    query = _selected().where(agents.c.id == id_, agents.c.account_id == call.account)
    found = await call.connection.execute(query)
    row: RowMapping | None = found.mappings().one_or_none()
    if row is None:
        raise not_found(f"agent {id_}")
    return row


def _selected() -> Select[Any]:
    counted = (
        select(func.count())
        .where(applications.c.agent_id == agents.c.id)
        .correlate(agents)
        .scalar_subquery()
    )
    newest = (
        select(
            func.jsonb_build_object(
                "epoch", epochs.c.epoch, "reason", epochs.c.reason, "since", epochs.c.created_at
            )
        )
        .where(epochs.c.agent_id == agents.c.id, epochs.c.state == "quarantined")
        .order_by(epochs.c.created_at.desc())
        .limit(1)
        .correlate(agents)
        .scalar_subquery()
    )
    return select(agents, counted.label("applications"), newest.label("quarantined"))


def agent_of(row: RowMapping, call: Call) -> Agent:
    quarantined = row["quarantined"]
    return Agent(
        organisation=row["organisation_id"],
        project=row["project_id"],
        status=status_of(row["state"], row["heard_at"], call.now, connected=row["connected"]),
        heard_at=text_of(row["heard_at"]),
        connected_at=text_of(row["connected_at"]),
        roots_at=text_of(row["roots_at"]),
        capabilities=list(row["capabilities"]),
        version=row["agent_version"],
        upgrade_available=upgrade_for(row["agent_version"]),
        edition=row["version"],
        quarantined=Quarantine(**quarantined) if quarantined else None,
        deletions=_deletions(row["doubted"]),
        rebuilding_since=text_of(
            rebuilding(row["rebuilt_at"], call.now, in_step=row["roots_in_step"])
        ),
        **{name: row[name] for name in _PLAIN},
    )


def _deletions(doubted: Mapping[str, Any]) -> Deletions | None:
    if not doubted:
        return None
    kinds = {kind: it["count"] for kind, it in doubted.items()}
    return Deletions(kinds=kinds, since=min(it["since"] for it in doubted.values()))


_PLAIN = (
    "id",
    "name",
    "environment",
    "region",
    "labels",
    "round_trip_ms",
    "clock_skew_ms",
    "allowed",
    "components",
    "roots_in_step",
    "applications",
)


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/agents",
        needs=VIEW,
        handler=list_agents,
        takes=AgentsQuery,
        gives=Page[Agent],
    ),
    Endpoint(method="GET", path="/agents/{id}", needs=VIEW, handler=get_agent, gives=Agent),
    Endpoint(
        method="GET",
        path="/agents/{id}/sealing-key",
        needs=VIEW,
        handler=get_sealing_key,
        gives=SealingKey,
    ),
)
