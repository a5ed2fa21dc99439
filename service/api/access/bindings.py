"""Role bindings: which principal holds which role in which scope.

Nobody gives away more than they hold in that scope themselves.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from sqlalchemy import delete, select

from service.access.action_patterns import exceeding_actions
from service.access.decision import ACCOUNT, BindingScope, ResourceScope, exceeds
from service.access.permissions import Permission
from service.access.visibility import visible_bindings
from service.api.access.organisations import OrganisationRow, organisation_scope
from service.api.access.principals import PrincipalRow
from service.api.access.projects import ProjectRow, project_scope
from service.api.access.resource_groups import ResourceGroupRow
from service.api.access.roles import RoleRow
from service.auth.administrators import administrator_stays
from service.auth.caller import known
from service.http import crud
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput, RequestModel, ResponseModel
from service.http.fields import Id, text_of
from service.http.pages import Page, PagedList, PageOrder, PageQuery, read_page
from service.http.problem import DeniedError, invalid
from service.store.tables import (
    bindings,
    organisations,
    principals,
    projects,
    resource_groups,
    roles,
)

VIEW, EDIT = Permission.ACCESS_VIEW, Permission.ACCESS_EDIT


class NewBinding(RequestModel, frozen=True, kw_only=True):
    """Neither organisation nor project: the whole account."""

    principal: Id
    role: Id
    organisation: Id | None = None
    project: Id | None = None
    resource_group: Id | None = None


class RoleBinding(ResponseModel, frozen=True, kw_only=True):
    id: str
    principal: str
    role: str
    organisation: str | None
    project: str | None
    resource_group: str | None
    created_at: str


class BindingRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    principal_id: str
    role_id: str
    organisation_id: str | None
    project_id: str | None
    resource_group_id: str | None
    created_at: datetime


class BindingsQuery(PageQuery, frozen=True, kw_only=True):
    principal: Id = ""


async def list_bindings(call: ApiCall, params: BindingsQuery) -> Page[RoleBinding]:
    """List the role bindings in the caller's scope."""
    query = select(bindings).where(visible_bindings(call.caller, VIEW))
    if params.principal:
        query = query.where(bindings.c.principal_id == params.principal)
    paged = PagedList(
        name=f"{call.account}/bindings", order=PageOrder(columns=(bindings.c.id,)), into=BindingRow
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(_binding)


async def create_binding(call: ApiCall, params: NewBinding) -> RoleBinding:
    """Create a binding, which gives a role to a principal in a scope."""
    principal = await crud.referred(call, principals, params.principal, "principal", PrincipalRow)
    role = await crud.referred(call, roles, params.role, "role", RoleRow)
    scope, resource = await _scope(call, params)
    what = f"role {role.name} for {principal.name}"
    call.require(EDIT, resource, what)
    own = call.caller.bindings
    more = {
        *exceeds(own, known(role.permissions), scope),
        *exceeding_actions(own, role.actions, scope),
    }
    if more:
        detail = f"you do not hold there yourself: {', '.join(sorted(more))}"
        raise DeniedError(EDIT, what, detail=detail)
    row = await crud.add(
        call,
        bindings,
        BindingRow,
        principal_id=params.principal,
        role_id=params.role,
        organisation_id=scope.organisation or None,
        project_id=params.project,
        resource_group_id=params.resource_group,
    )
    detail_of = {"role": role.name, **_where(row)}
    await call.audit("binding.created", f"principal/{principal.name}", detail=detail_of)
    return _binding(row)


async def delete_binding(call: ApiCall, _params: NoInput) -> None:
    """Delete a binding; refused where nobody would be left to administer the account."""
    row = await crud.one(call, bindings, call.id, "binding", BindingRow)
    resource = await _scope_of(call, row)
    if not call.may(VIEW, resource):
        raise DeniedError(VIEW, f"binding {call.id}", status=404)
    call.require(EDIT, resource, f"binding {call.id}")
    principal = await crud.one(call, principals, row.principal_id, "principal", PrincipalRow)
    role = await crud.one(call, roles, row.role_id, "role", RoleRow)
    async with administrator_stays(call.connection, call.account):
        await call.connection.execute(delete(bindings).where(bindings.c.id == row.id))
    detail = {"role": role.name, **_where(row)}
    await call.audit("binding.deleted", f"principal/{principal.name}", detail=detail)


async def _scope(call: ApiCall, params: NewBinding) -> tuple[BindingScope, ResourceScope]:
    labels = None
    if params.resource_group:
        group = await crud.referred(
            call, resource_groups, params.resource_group, "resource_group", ResourceGroupRow
        )
        labels = group.labels
    if params.project:
        project = await crud.referred(call, projects, params.project, "project", ProjectRow)
        organisation = project.organisation_id
        if params.organisation not in (None, organisation):
            raise invalid("project", "it is in another organisation", rule="reference")
        scope = BindingScope(organisation=organisation, project=params.project, labels=labels)
        return scope, project_scope(project)
    if params.organisation:
        await crud.referred(
            call, organisations, params.organisation, "organisation", OrganisationRow
        )
        scope = BindingScope(organisation=params.organisation, labels=labels)
        return scope, organisation_scope(params.organisation)
    return BindingScope(labels=labels), ACCOUNT


async def _scope_of(call: ApiCall, row: BindingRow) -> ResourceScope:
    if row.project_id:
        project = await crud.one(call, projects, row.project_id, "project", ProjectRow)
        return project_scope(project)
    if row.organisation_id:
        return organisation_scope(row.organisation_id)
    return ACCOUNT


def _where(row: BindingRow) -> dict[str, str]:
    names = ("organisation_id", "project_id", "resource_group_id")
    return {name.removesuffix("_id"): id_ for name in names if (id_ := getattr(row, name))}


def _binding(row: BindingRow) -> RoleBinding:
    return RoleBinding(
        id=row.id,
        principal=row.principal_id,
        role=row.role_id,
        organisation=row.organisation_id,
        project=row.project_id,
        resource_group=row.resource_group_id,
        created_at=text_of(row.created_at),
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/bindings",
        needs=VIEW,
        handler=list_bindings,
        takes=BindingsQuery,
        gives=Page[RoleBinding],
    ),
    Endpoint(
        method="POST",
        path="/bindings",
        needs=EDIT,
        handler=create_binding,
        takes=NewBinding,
        gives=RoleBinding,
        status=201,
    ),
    Endpoint(method="DELETE", path="/bindings/{id}", needs=EDIT, handler=delete_binding),
)
