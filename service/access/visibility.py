"""Visibility: what a caller may see, as conditions of SQL, and the scope of one resource.

An application belongs to a project that its agent is bound to, or, on an agent of the organisation
or of the account, to the project that names its AppProject (by its own name where it lists none).
Lists are filtered in the database, so a page is full and a count is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from msgspec import structs
from sqlalchemy import (
    ColumnElement,
    Table,
    Text,
    and_,
    cast,
    exists,
    false,
    func,
    literal,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from service.access.decision import BindingScope, Caller, ResourceScope, visible_scopes
from service.access.permissions import Permission
from service.store.tables import (
    agents,
    applications,
    bindings,
    objects,
    principals,
    projects,
    tasks,
)

Condition = ColumnElement[bool]


def visible_applications(caller: Caller, permission: Permission) -> Condition:
    """Select rows of `applications` in the caller's scopes, the whole account's included."""
    scopes = visible_scopes(caller.bindings, permission)
    return and_(applications.c.account_id == caller.account, _any(scopes, _application_in))


def visible_agents(caller: Caller, permission: Permission) -> Condition:
    """Select rows of `agents` in the caller's scopes."""
    scopes = visible_scopes(caller.bindings, permission)
    return and_(agents.c.account_id == caller.account, _any(scopes, _agent_in))


def visible_app_projects(caller: Caller, permission: Permission) -> Condition:
    """Select AppProjects in `objects`, with `agents` joined; labels narrow to applications."""
    scopes = visible_scopes(caller.bindings, permission)
    return and_(agents.c.account_id == caller.account, _any(scopes, _app_project_in))


def visible_tasks(caller: Caller, permission: Permission) -> Condition:
    """Select `tasks` by the scope of their application, which need not be there any more.

    One's own are seen where labels narrow a binding too: the labels of what is gone are not known.
    """
    scopes = visible_scopes(caller.bindings, permission)
    unnarrowed = [it for it in scopes if it.labels is None]
    anywhere = [structs.replace(it, labels=None) for it in scopes]
    own = and_(tasks.c.principal_id == caller.id, _any(anywhere, _task_in))
    return and_(tasks.c.account_id == caller.account, or_(_any(unnarrowed, _task_in), own))


def visible_bindings(caller: Caller, permission: Permission) -> Condition:
    """Select bindings that reach no further than the caller's own."""
    scopes = visible_scopes(caller.bindings, permission)
    if any(it.whole_account for it in scopes):
        return bindings.c.account_id == caller.account
    organisations = [it.organisation for it in scopes if not it.project]
    inside = select(projects.c.id).where(projects.c.organisation_id.in_(organisations))
    return and_(
        bindings.c.account_id == caller.account,
        or_(
            bindings.c.organisation_id.in_(organisations),
            bindings.c.project_id.in_([it.project for it in scopes if it.project]),
            bindings.c.project_id.in_(inside),
        ),
    )


def visible_principals(caller: Caller, permission: Permission) -> Condition:
    """Select the caller, and principals that are bound where the caller may look."""
    mine = principals.c.account_id == caller.account
    if whole_account(caller, permission):
        return mine
    bound = select(bindings.c.principal_id).where(visible_bindings(caller, permission))
    return and_(mine, or_(principals.c.id == caller.id, principals.c.id.in_(bound)))


def whole_account(caller: Caller, permission: Permission) -> bool:
    return visible_scopes(caller.bindings, permission) == (BindingScope(),)


async def application_scope(
    connection: AsyncConnection, agent_id: str, project: str, labels: dict[str, str]
) -> ResourceScope:
    """Read the scope of an application that exists, or is about to."""
    mine = agents.alias()
    query = (
        select(projects.c.id, projects.c.organisation_id)
        .join(mine, mine.c.id == agent_id)
        .where(_belongs(mine, literal(project)))
    )
    found = (await connection.execute(query)).all()
    organisation = await connection.scalar(
        select(agents.c.organisation_id).where(agents.c.id == agent_id)
    )
    organisations = {it.organisation_id for it in found}
    organisations |= {organisation} if organisation else set()
    return ResourceScope(
        organisations=frozenset(organisations),
        projects=frozenset(it.id for it in found),
        labels=labels,
    )


class AgentOwner(Protocol):
    """Which organisation and project an agent belongs to: columns of its row."""

    @property
    def organisation_id(self) -> str | None: ...

    @property
    def project_id(self) -> str | None: ...


def agent_scope(row: AgentOwner) -> ResourceScope:
    """Make the scope of an agent, or of an object that stands or falls with it."""
    organisation, project = row.organisation_id, row.project_id
    return ResourceScope(
        organisations=frozenset([organisation] if organisation else ()),
        projects=frozenset([project] if project else ()),
    )


def _any(scopes: Sequence[BindingScope], condition: Any) -> Condition:
    if any(it.whole_account for it in scopes):
        return true()
    conditions: Iterable[Condition] = [condition(it) for it in scopes]
    return or_(false(), *conditions)


def _application_in(scope: BindingScope) -> Condition:
    parts: list[Condition] = []
    if scope.labels is not None:
        parts.append(applications.c.labels.op("@>")(cast(dict(scope.labels), JSONB)))
    if scope.organisation or scope.project:
        parts.append(_in_scope(scope, applications))
    return and_(true(), *parts)


def _task_in(scope: BindingScope) -> Condition:
    return _in_scope(scope, tasks) if scope.organisation or scope.project else true()


def _app_project_in(scope: BindingScope) -> Condition:
    if scope.labels is not None:
        return false()
    return _in_scope(scope, objects) if scope.organisation or scope.project else true()


def _in_scope(scope: BindingScope, table: Table) -> Condition:
    """`table` has the columns `agent_id` and `project`."""
    mine = agents.alias()
    inner = (
        select(literal(1))
        .select_from(mine)
        .join(projects, _belongs(mine, table.c.project))
        .where(mine.c.id == table.c.agent_id)
    )
    if scope.project:
        inner = inner.where(projects.c.id == scope.project)
    if scope.organisation:
        inner = inner.where(projects.c.organisation_id == scope.organisation)
    found: Condition = exists(inner.correlate(table))
    if scope.organisation and not scope.project:
        owned = select(literal(1)).where(
            mine.c.id == table.c.agent_id, mine.c.organisation_id == scope.organisation
        )
        found = or_(found, exists(owned.correlate(table)))
    return found


def _belongs(agent: Any, project: ColumnElement[Any]) -> Condition:
    named = or_(
        cast(project, Text) == func.any(cast(projects.c.app_projects, ARRAY(Text))),
        and_(func.cardinality(projects.c.app_projects) == 0, projects.c.name == project),
    )
    reachable = or_(
        agent.c.organisation_id.is_(None), agent.c.organisation_id == projects.c.organisation_id
    )
    by_name = and_(agent.c.project_id.is_(None), reachable, named)
    return and_(
        projects.c.account_id == agent.c.account_id,
        or_(agent.c.project_id == projects.c.id, by_name),
    )


def _agent_in(scope: BindingScope) -> Condition:
    if scope.labels is not None:
        return false()
    parts: list[Condition] = []
    if scope.organisation:
        parts.append(agents.c.organisation_id == scope.organisation)
    if scope.project:
        parts.append(agents.c.project_id == scope.project)
    return and_(true(), *parts)
