"""Changes of agents: creation, enrolment tokens, revocation, deletion."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
from aiohttp import web
from sqlalchemy import case, delete, insert, or_, select, update

from bus.identity import new_id
from bus.metadata_keys import ENVIRONMENT
from service.access.decision import ResourceScope
from service.access.permissions import Permission
from service.api.agents.agent_summaries import AgentSummary, agent_of
from service.api.agents.agents import find, row_of
from service.audit.audit_record import changed, redacted
from service.gateway import enrolment
from service.http import versioned
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput, RequestModel, ResponseModel
from service.http.fields import Id, Labels, Name, Short, Version, text_of
from service.http.problem import invalid
from service.store.changes import note
from service.store.tables import agents, applications, organisations, projects

EDIT, DELETE = Permission.AGENT_EDIT, Permission.AGENT_DELETE
ENROLMENT_SECONDS = web.AppKey("enrolment_seconds", float)
"""How long an enrolment token may be used."""


class NewAgent(RequestModel, frozen=True, kw_only=True):
    name: Name
    environment: Short = ""
    region: Short = ""
    labels: Labels = {}
    organisation: Id = ""
    project: Id = ""


class AgentChange(RequestModel, frozen=True, kw_only=True):
    environment: Short | msgspec.UnsetType = msgspec.UNSET
    region: Short | msgspec.UnsetType = msgspec.UNSET
    labels: Labels | msgspec.UnsetType = msgspec.UNSET
    version: Version | None = None


class EnrolmentToken(ResponseModel, frozen=True, kw_only=True):
    """Shown this once."""

    token: str
    expires_at: str


class AgentChangeRow(versioned.LockedRow, frozen=True, kw_only=True):
    name: str
    environment: str
    region: str
    labels: dict[str, str]


async def create_agent(call: ApiCall, params: NewAgent) -> AgentSummary:
    """Create an agent; it enrols itself with a one-time token."""
    scope = await _scope_of_new(call, params)
    call.require(EDIT, scope, f"agent {params.name}")
    id_ = new_id()
    values = {
        "id": id_,
        "account_id": call.account,
        "organisation_id": next(iter(scope.organisations), None),
        "project_id": next(iter(scope.projects), None),
        "name": params.name,
        "environment": params.environment,
        "region": params.region,
        "labels": params.labels,
    }
    await call.connection.execute(insert(agents).values(values))
    await _record_change(call, id_, params.name, "agent.created", redacted(values))
    return agent_of(await row_of(call, id_), call)


async def change_agent(call: ApiCall, params: AgentChange) -> AgentSummary:
    """Change environment, region or labels of an agent; its name stays."""
    await find(call, EDIT)
    before = await versioned.locked(call, agents, "agent", AgentChangeRow)
    values = {
        name: getattr(params, name)
        for name in ("environment", "region", "labels")
        if getattr(params, name) is not msgspec.UNSET
    }
    after = await versioned.change(call, agents, before, values, params.version)
    await _copy_to_applications(call, before.id, values)
    detail = changed(
        {name: getattr(before, name) for name in values},
        {name: getattr(after, name) for name in values},
    )
    await _record_change(call, before.id, before.name, "agent.changed", detail)
    return agent_of(await row_of(call, before.id), call)


async def delete_agent(call: ApiCall, _params: NoInput) -> None:
    """Delete an agent with everything that it reported; its cluster is not touched."""
    row = await find(call, DELETE)
    await versioned.locked(call, agents, "agent", versioned.LockedRow)
    await call.turn()
    await enrolment.revoke(call.connection, row.id, call.now)
    await call.connection.execute(delete(agents).where(agents.c.id == row.id))
    await call.audit("agent.deleted", f"agent/{row.name}")


async def make_enrolment_token(call: ApiCall, _params: NoInput) -> EnrolmentToken:
    """Create a one-time enrolment token of an agent; its earlier tokens stop working."""
    row = await find(call, EDIT)
    seconds = call.use(ENROLMENT_SECONDS)
    expires_at = call.now + timedelta(seconds=seconds)
    token = await enrolment.new_token(call.connection, row.id, expires_at)
    await _record_change(call, row.id, row.name, "agent.enrolment-token", {})
    return EnrolmentToken(token=token, expires_at=text_of(expires_at))


async def revoke_agent(call: ApiCall, _params: NoInput) -> AgentSummary:
    """Revoke an agent: its link ends now, and its key opens no other.

    A new enrolment token admits the agent again.
    """
    row = await find(call, EDIT)
    await versioned.locked(call, agents, "agent", versioned.LockedRow)
    await call.turn()
    await enrolment.revoke(call.connection, row.id, call.now)
    await call.audit("agent.revoked", f"agent/{row.name}")
    return agent_of(await row_of(call, row.id), call)


async def _scope_of_new(call: ApiCall, params: NewAgent) -> ResourceScope:
    """Make the scope of a new agent, the account's where none is named."""
    organisation = params.organisation
    if params.project:
        query = select(projects.c.organisation_id).where(
            projects.c.id == params.project, projects.c.account_id == call.account
        )
        found = await call.connection.scalar(query)
        if found is None or organisation not in ("", found):
            raise invalid("project", "there is no such project", rule="reference")
        return ResourceScope(projects=frozenset([params.project]), organisations=frozenset([found]))
    if organisation:
        query = select(organisations.c.id).where(
            organisations.c.id == organisation, organisations.c.account_id == call.account
        )
        if await call.connection.scalar(query) is None:
            raise invalid("organisation", "there is no such organisation", rule="reference")
    return ResourceScope(organisations=frozenset([organisation] if organisation else ()))


async def _copy_to_applications(call: ApiCall, id_: str, values: Mapping[str, Any]) -> None:
    """Applications carry their agent's environment and region where they name none themselves."""
    own = or_(*(applications.c.labels.op("?")(name) for name in ENVIRONMENT.names))
    copied: dict[str, Any] = {
        name: values[name] for name in ("environment", "region") if name in values
    }
    if "environment" in copied:
        copied["environment"] = case((own, applications.c.environment), else_=copied["environment"])
    if copied:
        statement = update(applications).where(applications.c.agent_id == id_).values(copied)
        await call.connection.execute(statement)


async def _record_change(
    call: ApiCall, id_: str, name: str, action: str, detail: Mapping[str, Any]
) -> None:
    await call.audit(action, f"agent/{name}", detail=detail)
    await note(call.connection, call.account, "agent.changed", name, "", id_, {"action": action})


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/agents",
        needs=EDIT,
        handler=create_agent,
        takes=NewAgent,
        gives=AgentSummary,
        status=201,
    ),
    Endpoint(
        method="PATCH",
        path="/agents/{id}",
        needs=EDIT,
        handler=change_agent,
        takes=AgentChange,
        gives=AgentSummary,
    ),
    Endpoint(method="DELETE", path="/agents/{id}", needs=DELETE, handler=delete_agent),
    Endpoint(
        method="POST",
        path="/agents/{id}/enrolment-token",
        needs=EDIT,
        handler=make_enrolment_token,
        gives=EnrolmentToken,
        status=201,
    ),
    Endpoint(
        method="POST",
        path="/agents/{id}/revoke",
        needs=EDIT,
        handler=revoke_agent,
        gives=AgentSummary,
    ),
)
