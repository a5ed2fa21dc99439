"""Resource groups: applications selected by their labels, to limit a binding to."""

from __future__ import annotations

from sqlalchemy import and_, select

from service.access.decision import Caller, holds
from service.access.permissions import Permission
from service.access.visibility import Condition, visible_bindings, whole_account
from service.http import crud
from service.http.call import ApiCall
from service.http.crud import CrudHandlers, CrudNoun
from service.http.endpoint import NoInput, RequestModel, ResponseModel
from service.http.fields import Labels, Name, Version
from service.http.pages import Page, PagedList, PageOrder, PageQuery, read_page
from service.http.problem import ProblemError, not_found
from service.http.versioned import VersionedNoun, VersionedRow, shown
from service.store.tables import bindings, resource_groups

VIEW, EDIT = Permission.ACCESS_VIEW, Permission.ACCESS_EDIT


class ResourceGroupRow(VersionedRow, frozen=True, kw_only=True):
    labels: dict[str, str]


NOUN = VersionedNoun(
    table=resource_groups, row=ResourceGroupRow, word="group", what="resource group"
)


class NewResourceGroup(RequestModel, frozen=True, kw_only=True):
    name: Name
    labels: Labels
    """All of them must be on an application."""


class ResourceGroupChange(RequestModel, frozen=True, kw_only=True):
    labels: Labels
    version: Version | None = None


class ResourceGroup(ResponseModel, frozen=True, kw_only=True):
    id: str
    name: str
    labels: dict[str, str]
    version: int
    created_at: str


async def list_groups(call: ApiCall, params: PageQuery) -> Page[ResourceGroup]:
    """List the resource groups that the caller may see."""
    query = select(resource_groups).where(_visible_groups(call.caller))
    paged = PagedList(
        name=f"{call.account}/groups",
        order=PageOrder(columns=(resource_groups.c.name,)),
        into=ResourceGroupRow,
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(lambda row: shown(ResourceGroup, row))


async def get_group(call: ApiCall, _params: NoInput) -> ResourceGroup:
    """Get one resource group."""
    row = await NOUN.one(call)
    mine = resource_groups.c.id == row.id
    query = select(resource_groups.c.id).where(mine, _visible_groups(call.caller))
    if await call.connection.scalar(query) is None:
        raise not_found(f"resource group {call.id}")
    return shown(ResourceGroup, row)


async def create_group(call: ApiCall, params: NewResourceGroup) -> ResourceGroup:
    """Create a resource group of the applications that carry all of its labels."""
    crud.require_account(call, EDIT, f"resource group {params.name}")
    values = {"name": params.name, "labels": params.labels}
    return shown(ResourceGroup, await NOUN.create(call, values))


async def change_group(call: ApiCall, params: ResourceGroupChange) -> ResourceGroup:
    """Change the labels of a resource group; bindings limited to the group follow at once."""
    crud.require_account(call, EDIT, f"resource group {call.id}")
    row = await NOUN.locked(call)
    return shown(
        ResourceGroup, await NOUN.change(call, row, {"labels": params.labels}, params.version)
    )


async def delete_group(call: ApiCall, _params: NoInput) -> None:
    """Delete a resource group that no binding is limited to.

    A binding would reach further without its group, so bindings are removed first.
    """
    crud.require_account(call, EDIT, f"resource group {call.id}")
    row = await NOUN.locked(call)
    query = select(bindings.c.id).where(bindings.c.resource_group_id == row.id).limit(1)
    if await call.connection.scalar(query) is not None:
        remedy = "Remove those bindings first."
        raise ProblemError(
            409, "a binding is still limited to the group", rule="in-use", remedy=remedy
        )
    await NOUN.delete(call, row)


def _visible_groups(caller: Caller) -> Condition:
    """Select resource groups to which bindings are narrowed where the caller may look.

    Who gives access sees all of them, because any of them can narrow what is given.
    """
    mine = resource_groups.c.account_id == caller.account
    if whole_account(caller, VIEW) or holds(caller.bindings, EDIT):
        return mine
    bound = select(bindings.c.resource_group_id).where(visible_bindings(caller, VIEW))
    return and_(mine, resource_groups.c.id.in_(bound))


ENDPOINTS = CrudNoun(
    path="/resource-groups",
    view=VIEW,
    edit=EDIT,
    handlers=CrudHandlers(
        list=list_groups,
        get=get_group,
        create=create_group,
        change=change_group,
        delete=delete_group,
    ),
    gives=ResourceGroup,
    new=NewResourceGroup,
    change=ResourceGroupChange,
).endpoints()
