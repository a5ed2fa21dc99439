"""Changing agents: making one, its enrolment token, revocation, believing its epochs, its end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
from sqlalchemy import case, delete, insert, select, update

from bus.ids import new_id
from service.access.permissions import Permission
from service.access.values import Place
from service.api import versions
from service.api.agents import Agent, agent_of, find, row_of
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing
from service.api.fields import Id, Labels, Name, Short, Version, text_of
from service.api.problem import invalid, not_found
from service.audit.redact import changed, redacted
from service.gateway import enrolment
from service.gateway import epochs as believed
from service.projection.applications import ENVIRONMENT
from service.rooms_follow import FOLLOWERS
from service.store.changes import note
from service.store.tables import agents, applications, epochs, organisations, projects

EDIT, DELETE = Permission.AGENT_EDIT, Permission.AGENT_DELETE


class NewAgent(Given, frozen=True, kw_only=True):
    name: Name
    environment: Short = ""
    region: Short = ""
    labels: Labels = {}
    organisation: Id = ""
    project: Id = ""


class AgentChange(Given, frozen=True, kw_only=True):
    environment: Short | msgspec.UnsetType = msgspec.UNSET
    region: Short | msgspec.UnsetType = msgspec.UNSET
    labels: Labels | msgspec.UnsetType = msgspec.UNSET
    version: Version | None = None


class EnrolmentToken(Answer, frozen=True, kw_only=True):
    """Shown this once."""

    token: str
    expires_at: str | None


async def create_agent(call: Call, given: NewAgent) -> Agent:
    """Make an agent; it enrols itself with a token that is asked for next."""
    place = await _place_of_new(call, given)
    call.require(EDIT, place, f"agent {given.name}")
    id_ = new_id()
    values = {
        "id": id_,
        "account_id": call.account,
        "organisation_id": next(iter(place.organisations), None),
        "project_id": next(iter(place.projects), None),
        "name": given.name,
        "environment": given.environment,
        "region": given.region,
        "labels": given.labels,
    }
    await call.connection.execute(insert(agents).values(values))
    await _told(call, id_, given.name, "agent.created", redacted(values))
    return agent_of(await row_of(call, id_), call)


async def change_agent(call: Call, given: AgentChange) -> Agent:
    """Change its environment, region or labels; its name is part of its identity."""
    before = await find(call, EDIT)
    await versions.locked(call, agents, "agent")
    values = {
        name: getattr(given, name)
        for name in ("environment", "region", "labels")
        if getattr(given, name) is not msgspec.UNSET
    }
    after = await versions.change(call, agents, before, values, given.version)
    await _projected(call, before["id"], values)
    detail = changed({name: before[name] for name in values}, {n: after[n] for n in values})
    await _told(call, before["id"], before["name"], "agent.changed", detail)
    return agent_of(await row_of(call, before["id"]), call)


async def delete_agent(call: Call, _given: Nothing) -> None:
    """Forget it, with everything it reported; nothing happens in its cluster."""
    row = await find(call, DELETE)
    await versions.locked(call, agents, "agent")
    await call.turn()
    await enrolment.revoke(call.connection, row["id"], call.now)
    await call.connection.execute(delete(agents).where(agents.c.id == row["id"]))
    await call.audit("agent.deleted", f"agent/{row['name']}")


async def make_enrolment_token(call: Call, _given: Nothing) -> EnrolmentToken:
    """A one-time token, shown this once; one made before stops working."""
    row = await find(call, EDIT)
    seconds = call.tools.parts.settings.enrolment_seconds
    expires_at = call.now + timedelta(seconds=seconds)
    token = await enrolment.new_token(call.connection, row["id"], expires_at)
    await _told(call, row["id"], row["name"], "agent.enrolment-token", {})
    return EnrolmentToken(token=token, expires_at=text_of(expires_at))


async def revoke_agent(call: Call, _given: Nothing) -> Agent:
    """Cut its link now; its key opens nothing any more. A new token enrols it again."""
    row = await find(call, EDIT)
    await versions.locked(call, agents, "agent")
    await call.turn()
    await enrolment.revoke(call.connection, row["id"], call.now)
    await call.audit("agent.revoked", f"agent/{row['name']}")
    return agent_of(await row_of(call, row["id"]), call)


async def accept_epoch(call: Call, _given: Nothing) -> Agent:
    """Believe a quarantined epoch: what it says replaces what was known."""
    return await _judged(call, "accepted")


async def reject_epoch(call: Call, _given: Nothing) -> Agent:
    """Forget a quarantined epoch: what was known stays."""
    return await _judged(call, "rejected")


async def _judged(call: Call, verdict: str) -> Agent:
    row = await find(call, EDIT)
    epoch = call.request.match_info["epoch"]
    mine = select(epochs.c.epoch).where(epochs.c.agent_id == row["id"]).order_by(epochs.c.epoch)
    await call.connection.execute(mine.with_for_update())  # as the writer does, before the audit
    await call.turn()
    if verdict == "accepted":
        following = FOLLOWERS
        found = await believed.accept(call.connection, row["id"], epoch, call.now, following)
    else:
        found = await believed.reject(call.connection, row["id"], epoch)
    if not found:
        raise not_found(f"quarantined epoch {epoch}")
    await call.audit(f"epoch.{verdict}", f"agent/{row['name']}", detail={"epoch": epoch})
    return agent_of(await row_of(call, row["id"]), call)


async def _place_of_new(call: Call, given: NewAgent) -> Place:
    """Of the account where neither is named; a project brings its organisation."""
    organisation = given.organisation
    if given.project:
        query = select(projects.c.organisation_id).where(
            projects.c.id == given.project, projects.c.account_id == call.account
        )
        found = await call.connection.scalar(query)
        if found is None or organisation not in ("", found):
            raise invalid("project", "there is no such project", rule="reference")
        return Place(projects=frozenset([given.project]), organisations=frozenset([found]))
    if organisation:
        query = select(organisations.c.id).where(
            organisations.c.id == organisation, organisations.c.account_id == call.account
        )
        if await call.connection.scalar(query) is None:
            raise invalid("organisation", "there is no such organisation", rule="reference")
    return Place(organisations=frozenset([organisation] if organisation else ()))


async def _projected(call: Call, id_: str, values: Mapping[str, Any]) -> None:
    """Applications carry their agent's environment and region where they name none themselves."""
    own = applications.c.labels.op("?")(ENVIRONMENT)
    copied: dict[str, Any] = {
        name: values[name] for name in ("environment", "region") if name in values
    }
    if "environment" in copied:
        copied["environment"] = case((own, applications.c.environment), else_=copied["environment"])
    if copied:
        statement = update(applications).where(applications.c.agent_id == id_).values(copied)
        await call.connection.execute(statement)


async def _told(call: Call, id_: str, name: str, action: str, detail: Mapping[str, Any]) -> None:
    await call.audit(action, f"agent/{name}", detail=detail)
    await note(call.connection, call.account, "agent.changed", name, "", id_, {"action": action})


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/agents",
        needs=EDIT,
        handler=create_agent,
        takes=NewAgent,
        gives=Agent,
        status=201,
    ),
    Endpoint(
        method="PATCH",
        path="/agents/{id}",
        needs=EDIT,
        handler=change_agent,
        takes=AgentChange,
        gives=Agent,
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
        method="POST", path="/agents/{id}/revoke", needs=EDIT, handler=revoke_agent, gives=Agent
    ),
    Endpoint(
        method="POST",
        path="/agents/{id}/epochs/{epoch}/accept",
        needs=EDIT,
        handler=accept_epoch,
        gives=Agent,
    ),
    Endpoint(
        method="POST",
        path="/agents/{id}/epochs/{epoch}/reject",
        needs=EDIT,
        handler=reject_epoch,
        gives=Agent,
    ),
)
