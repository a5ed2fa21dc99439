"""Agents: what is known of each link, making one, its enrolment token, revocation, its epochs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
from sqlalchemy import RowMapping, Select, case, delete, func, insert, select, update

from bus.ids import new_id
from service.access.permissions import Permission
from service.access.values import Place
from service.api import versions
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing
from service.api.fields import Id, Labels, Name, Short, Text, Version, text_of
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.problem import DeniedError, invalid, not_found
from service.api.sight import agent_place, visible_agents
from service.api.status import AgentStatus, status_of, upgrade_for
from service.audit.redact import changed, redacted
from service.gateway import enrolment
from service.gateway import epochs as believed
from service.projection.applications import ENVIRONMENT
from service.rooms_follow import followers
from service.store.changes import note
from service.store.tables import agent_keys, agents, applications, epochs, organisations, projects

VIEW, EDIT, DELETE = Permission.AGENT_VIEW, Permission.AGENT_EDIT, Permission.AGENT_DELETE


class AgentsQuery(PageQuery, frozen=True, kw_only=True):
    search: Text = ""
    environment: Text = ""
    region: Text = ""


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


class Quarantine(Answer, frozen=True, kw_only=True):
    """A new life of the agent's outbox that is not believed yet."""

    epoch: str
    reason: str
    since: str | None


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
    edition: int
    """Counts its changes here: what If-Match takes."""


class EnrolmentToken(Answer, frozen=True, kw_only=True):
    """Shown this once."""

    token: str
    expires_at: str | None


class SealingKey(Answer, frozen=True, kw_only=True):
    """X25519, raw, base64: what is sealed to it, only this agent can open."""

    public_key: str


async def list_agents(call: Call, given: AgentsQuery) -> Page[Agent]:
    """All agents that may be seen, by name."""
    query = _selected().where(visible_agents(call.caller, VIEW))
    if given.search:
        query = query.where(func.strpos(func.lower(agents.c.name), given.search.lower()) > 0)
    if given.environment:
        query = query.where(agents.c.environment.in_(given.environment.split(",")))
    if given.region:
        query = query.where(agents.c.region.in_(given.region.split(",")))
    order = Order(columns=(agents.c.name,))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/agents")
    return Page(items=[_agent(row, call) for row in found.rows], next=found.next)


async def get_agent(call: Call, _given: Nothing) -> Agent:
    """One agent."""
    return _agent(await find(call, VIEW), call)


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
    return _agent(await _row(call, id_), call)


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
    return _agent(await _row(call, before["id"]), call)


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
    return _agent(await _row(call, row["id"]), call)


async def accept_epoch(call: Call, _given: Nothing) -> Agent:
    """Believe a quarantined epoch: what it says replaces what was known."""
    return await _judged(call, "accepted")


async def reject_epoch(call: Call, _given: Nothing) -> Agent:
    """Forget a quarantined epoch: what was known stays."""
    return await _judged(call, "rejected")


async def get_sealing_key(call: Call, _given: Nothing) -> SealingKey:
    """The public key that credentials for this agent are sealed to."""
    row = await find(call, VIEW)
    query = (
        select(agent_keys.c.sealing_key)
        .where(agent_keys.c.agent_id == row["id"], agent_keys.c.retired_at.is_(None))
        .order_by(agent_keys.c.created_at.desc())
        .limit(1)
    )
    key = await call.connection.scalar(query)
    if key is None:
        raise not_found(f"key of agent {row['name']}: it is not enrolled")
    return SealingKey(public_key=key)


async def _judged(call: Call, verdict: str) -> Agent:
    row = await find(call, EDIT)
    epoch = call.request.match_info["epoch"]
    mine = select(epochs.c.epoch).where(epochs.c.agent_id == row["id"]).order_by(epochs.c.epoch)
    await call.connection.execute(mine.with_for_update())  # as the writer does, before the audit
    await call.turn()
    if verdict == "accepted":
        following = followers(call.tools.parts)
        found = await believed.accept(call.connection, row["id"], epoch, call.now, following)
    else:
        found = await believed.reject(call.connection, row["id"], epoch)
    if not found:
        raise not_found(f"quarantined epoch {epoch}")
    await call.audit(f"epoch.{verdict}", f"agent/{row['name']}", detail={"epoch": epoch})
    return _agent(await _row(call, row["id"]), call)


async def find(call: Call, permission: Permission) -> RowMapping:
    row = await _row(call, call.id)
    place = agent_place(row)
    if not call.may(VIEW, place):
        raise DeniedError(VIEW, f"agent {call.id}", status=404)
    call.require(permission, place, f"agent {row['name']}")
    return row


async def _row(call: Call, id_: str) -> RowMapping:
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


def _agent(row: RowMapping, call: Call) -> Agent:
    quarantined = row["quarantined"]
    return Agent(
        organisation=row["organisation_id"],
        project=row["project_id"],
        status=status_of(row["state"], row["heard_at"], call.now),
        heard_at=text_of(row["heard_at"]),
        connected_at=text_of(row["connected_at"]),
        roots_at=text_of(row["roots_at"]),
        capabilities=list(row["capabilities"]),
        version=row["agent_version"],
        upgrade_available=upgrade_for(row["agent_version"]),
        edition=row["version"],
        quarantined=Quarantine(**quarantined) if quarantined else None,
        **{name: row[name] for name in _PLAIN},
    )


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
        method="GET",
        path="/agents",
        needs=VIEW,
        handler=list_agents,
        takes=AgentsQuery,
        gives=Page[Agent],
    ),
    Endpoint(
        method="POST",
        path="/agents",
        needs=EDIT,
        handler=create_agent,
        takes=NewAgent,
        gives=Agent,
        status=201,
    ),
    Endpoint(method="GET", path="/agents/{id}", needs=VIEW, handler=get_agent, gives=Agent),
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
    Endpoint(
        method="GET",
        path="/agents/{id}/sealing-key",
        needs=VIEW,
        handler=get_sealing_key,
        gives=SealingKey,
    ),
)
