"""Agents: what the service knows of each of them and of its link."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Select, func, select

from service.access.permissions import Permission
from service.access.visibility import agent_scope, visible_agents
from service.api.agents.agent_summaries import AgentRow, AgentSummary, agent_of
from service.http import crud
from service.http.call import KEYS, ApiCall
from service.http.endpoint import Endpoint, NoInput, ResponseModel
from service.http.fields import EnvironmentQuery, Text, in_environment
from service.http.pages import Page, PagedList, PageOrder, read_page
from service.http.problem import DeniedError, ProblemError, not_found
from service.store.protected_columns import BoundKeyRow, is_bound
from service.store.rows import find_row
from service.store.tables import agent_keys, agents, applications, epochs

VIEW, EDIT, DELETE = Permission.AGENT_VIEW, Permission.AGENT_EDIT, Permission.AGENT_DELETE


class AgentsQuery(EnvironmentQuery, frozen=True, kw_only=True):
    search: Text = ""


class SealingKey(ResponseModel, frozen=True, kw_only=True):
    """X25519, raw, base64: what is sealed to it, only this agent can open."""

    public_key: str


class AgentScopeRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    organisation_id: str | None
    project_id: str | None


async def list_agents(call: ApiCall, params: AgentsQuery) -> Page[AgentSummary]:
    """List the agents that the caller may see, by name."""
    query = _selected().where(visible_agents(call.caller, VIEW))
    query = query.where(*in_environment(params, agents.c.environment, agents.c.region))
    if params.search:
        query = query.where(func.strpos(func.lower(agents.c.name), params.search.lower()) > 0)
    paged = PagedList(
        name=f"{call.account}/agents", order=PageOrder(columns=(agents.c.name,)), into=AgentRow
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(lambda row: agent_of(row, call))


async def get_agent(call: ApiCall, _params: NoInput) -> AgentSummary:
    """Get one agent."""
    return agent_of(await find(call, VIEW), call)


async def get_sealing_key(call: ApiCall, _params: NoInput) -> SealingKey:
    """Get the public key that credentials for an agent are sealed to."""
    row = await find(call, VIEW)
    query = (
        select(agent_keys)
        .where(agent_keys.c.agent_id == row.id, agent_keys.c.retired_at.is_(None))
        .order_by(agent_keys.c.created_at.desc())
        .limit(1)
    )
    key = await find_row(call.connection, query, BoundKeyRow)
    if key is None:
        raise not_found(f"key of agent {row.name}: it is not enrolled")
    if not is_bound(call.use(KEYS).ring, agent_keys, msgspec.structs.asdict(key)):
        detail = f"the service did not write the key of agent {row.name}: nothing is sealed to it"
        remedy = "Revoke the agent and enrol it again; an operator finds more in the service's log."
        raise ProblemError(409, detail, rule="unbound-key", remedy=remedy)
    return SealingKey(public_key=key.sealing_key)


async def find(call: ApiCall, permission: Permission) -> AgentRow:
    row = await row_of(call, call.id)
    scope = agent_scope(row)
    if not call.may(VIEW, scope):
        raise DeniedError(VIEW, f"agent {call.id}", status=404)
    call.require(permission, scope, f"agent {row.name}")
    return row


async def referred_agent(call: ApiCall, id_: str) -> AgentScopeRow:
    """Read the agent that a body names; the refusal names the field."""
    return await crud.referred(call, agents, id_, "agent", AgentScopeRow)


async def row_of(call: ApiCall, id_: str) -> AgentRow:
    query = _selected().where(agents.c.id == id_, agents.c.account_id == call.account)
    row = await find_row(call.connection, query, AgentRow)
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


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/agents",
        needs=VIEW,
        handler=list_agents,
        takes=AgentsQuery,
        gives=Page[AgentSummary],
    ),
    Endpoint(method="GET", path="/agents/{id}", needs=VIEW, handler=get_agent, gives=AgentSummary),
    Endpoint(
        method="GET",
        path="/agents/{id}/sealing-key",
        needs=VIEW,
        handler=get_sealing_key,
        gives=SealingKey,
    ),
)
