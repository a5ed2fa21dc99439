"""Bindings: who holds which role where. Nobody gives away more than they hold there themselves."""

from __future__ import annotations

from sqlalchemy import RowMapping, delete, select

from service.access.decide import exceeds
from service.access.permissions import Permission
from service.access.values import ACCOUNT, Place, Scope
from service.api import rows
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing
from service.api.fields import Id, text_of
from service.api.last_administrator import administrator_stays
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.problem import DeniedError, invalid
from service.api.sight import visible_bindings
from service.auth.caller import known
from service.store.tables import (
    bindings,
    organisations,
    principals,
    projects,
    resource_groups,
    roles,
)

VIEW, EDIT = Permission.ACCESS_VIEW, Permission.ACCESS_EDIT


class NewBinding(Given, frozen=True, kw_only=True):
    """Neither organisation nor project: the whole account."""

    principal: Id
    role: Id
    organisation: Id | None = None
    project: Id | None = None
    resource_group: Id | None = None


class Binding(Answer, frozen=True, kw_only=True):
    id: str
    principal: str
    role: str
    organisation: str | None
    project: str | None
    resource_group: str | None
    created_at: str | None


class BindingsQuery(PageQuery, frozen=True, kw_only=True):
    principal: Id = ""


async def list_bindings(call: Call, given: BindingsQuery) -> Page[Binding]:
    """List the bindings in one's own scope."""
    query = select(bindings).where(visible_bindings(call.caller, VIEW))
    if given.principal:
        query = query.where(bindings.c.principal_id == given.principal)
    order = Order(columns=(bindings.c.id,))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/bindings")
    return Page(items=[_binding(row) for row in found.rows], next=found.next)


async def create_binding(call: Call, given: NewBinding) -> Binding:
    """Give a role to somebody."""
    principal = await rows.referred(call, principals, given.principal, "principal")
    role = await rows.referred(call, roles, given.role, "role")
    scope, place = await _scope(call, given)
    what = f"role {role['name']} for {principal['name']}"
    call.require(EDIT, place, what)
    more = exceeds(call.caller.bindings, known(role["permissions"]), scope)
    if more:
        detail = f"you do not hold there yourself: {', '.join(sorted(more))}"
        raise DeniedError(EDIT, what, detail=detail)
    row = await rows.add(
        call,
        bindings,
        principal_id=given.principal,
        role_id=given.role,
        organisation_id=scope.organisation or None,
        project_id=given.project,
        resource_group_id=given.resource_group,
    )
    detail_of = {"role": role["name"], **_where(row)}
    await call.audit("binding.created", f"principal/{principal['name']}", detail=detail_of)
    return _binding(row)


async def delete_binding(call: Call, _given: Nothing) -> None:
    """Take a role away; refused where nobody would be left to administer the account."""
    row = await rows.one(call, bindings, call.id, "binding")
    place = await _place_of(call, row)
    if not call.may(VIEW, place):
        raise DeniedError(VIEW, f"binding {call.id}", status=404)
    call.require(EDIT, place, f"binding {call.id}")
    principal = await rows.one(call, principals, row["principal_id"], "principal")
    role = await rows.one(call, roles, row["role_id"], "role")
    async with administrator_stays(call):
        await call.connection.execute(delete(bindings).where(bindings.c.id == row["id"]))
    detail = {"role": role["name"], **_where(row)}
    await call.audit("binding.deleted", f"principal/{principal['name']}", detail=detail)


async def _scope(call: Call, given: NewBinding) -> tuple[Scope, Place]:
    labels = None
    if given.resource_group:
        group = await rows.referred(call, resource_groups, given.resource_group, "resource_group")
        labels = group["labels"]
    if given.project:
        project = await rows.referred(call, projects, given.project, "project")
        organisation = project["organisation_id"]
        if given.organisation not in (None, organisation):
            raise invalid("project", "it is in another organisation", rule="reference")
        scope = Scope(organisation=organisation, project=given.project, labels=labels)
        return scope, rows.project_place(project)
    if given.organisation:
        await rows.referred(call, organisations, given.organisation, "organisation")
        scope = Scope(organisation=given.organisation, labels=labels)
        return scope, rows.organisation_place(given.organisation)
    return Scope(labels=labels), ACCOUNT


async def _place_of(call: Call, row: RowMapping) -> Place:
    if row["project_id"]:
        return rows.project_place(await rows.one(call, projects, row["project_id"], "project"))
    if row["organisation_id"]:
        return rows.organisation_place(row["organisation_id"])
    return ACCOUNT


def _where(row: RowMapping) -> dict[str, str]:
    names = ("organisation_id", "project_id", "resource_group_id")
    return {name.removesuffix("_id"): row[name] for name in names if row[name]}


def _binding(row: RowMapping) -> Binding:
    return Binding(
        id=row["id"],
        principal=row["principal_id"],
        role=row["role_id"],
        organisation=row["organisation_id"],
        project=row["project_id"],
        resource_group=row["resource_group_id"],
        created_at=text_of(row["created_at"]),
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/bindings",
        needs=VIEW,
        handler=list_bindings,
        takes=BindingsQuery,
        gives=Page[Binding],
    ),
    Endpoint(
        method="POST",
        path="/bindings",
        needs=EDIT,
        handler=create_binding,
        takes=NewBinding,
        gives=Binding,
        status=201,
    ),
    Endpoint(method="DELETE", path="/bindings/{id}", needs=EDIT, handler=delete_binding),
)
