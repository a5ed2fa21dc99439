"""Organisations: the first division of an account."""

from __future__ import annotations

import msgspec
from sqlalchemy import ColumnElement, false, or_, select, true

from service.access.decision import ResourceScope
from service.access.permissions import Permission
from service.http import crud, versioned
from service.http.call import ApiCall
from service.http.crud import CrudHandlers, CrudNoun
from service.http.endpoint import NoInput, OpenAccess, RequestModel, ResponseModel
from service.http.fields import Name, Text, Version
from service.http.pages import Page, PagedList, PageOrder, PageQuery, read_page
from service.http.problem import DeniedError
from service.http.versioned import VersionedNoun, VersionedRow, shown
from service.store.tables import organisations, projects

EDIT = Permission.ACCESS_EDIT


class OrganisationRow(VersionedRow, frozen=True, kw_only=True):
    display_name: str


NOUN = VersionedNoun(
    table=organisations, row=OrganisationRow, word="organisation", what="organisation"
)


class NewOrganisation(RequestModel, frozen=True, kw_only=True):
    name: Name
    display_name: Text = ""


class OrganisationChange(RequestModel, frozen=True, kw_only=True):
    display_name: Text | msgspec.UnsetType = msgspec.UNSET
    version: Version | None = None


class Organisation(ResponseModel, frozen=True, kw_only=True):
    id: str
    name: str
    display_name: str
    version: int
    created_at: str


async def list_organisations(call: ApiCall, params: PageQuery) -> Page[Organisation]:
    """List the organisations in which the caller holds a role."""
    query = select(organisations).where(organisations.c.account_id == call.account, _reached(call))
    paged = PagedList(
        name=f"{call.account}/organisations",
        order=PageOrder(columns=(organisations.c.name,)),
        into=OrganisationRow,
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(lambda row: shown(Organisation, row))


async def get_organisation(call: ApiCall, _params: NoInput) -> Organisation:
    """Get one organisation."""
    return shown(Organisation, await _find(call))


async def create_organisation(call: ApiCall, params: NewOrganisation) -> Organisation:
    """Create an organisation; this needs access_edit in the whole account."""
    crud.require_account(call, EDIT, f"organisation {params.name}")
    values = {"name": params.name, "display_name": params.display_name}
    return shown(Organisation, await NOUN.create(call, values))


async def change_organisation(call: ApiCall, params: OrganisationChange) -> Organisation:
    """Change the display name of an organisation; its name stays."""
    row = await _find(call)
    call.require(EDIT, organisation_scope(row.id), f"organisation {row.name}")
    before = await NOUN.locked(call)
    after = await NOUN.change(call, before, versioned.values_of(params), params.version)
    return shown(Organisation, after)


async def delete_organisation(call: ApiCall, _params: NoInput) -> None:
    """Delete an organisation with its projects and bindings; it must hold no agent."""
    row = await _find(call)
    crud.require_account(call, EDIT, f"organisation {row.name}")
    await versioned.check_empty(call, "organisation", organisation_id=row.id)
    await NOUN.delete(call, row)


async def _find(call: ApiCall) -> OrganisationRow:
    row = await NOUN.one(call)
    seen = select(organisations.c.id).where(organisations.c.id == row.id, _reached(call))
    if await call.connection.scalar(seen) is None:
        raise DeniedError(Permission.ACCESS_VIEW, f"organisation {call.id}", status=404)
    return row


def _reached(call: ApiCall) -> ColumnElement[bool]:
    scopes = [it.scope for it in call.caller.bindings if it.permissions]
    if any(not (it.organisation or it.project) for it in scopes):
        return true()
    owning = select(projects.c.organisation_id).where(
        projects.c.id.in_([it.project for it in scopes if it.project])
    )
    named = [it.organisation for it in scopes if it.organisation]
    return or_(false(), organisations.c.id.in_(named), organisations.c.id.in_(owning))


def organisation_scope(id_: str) -> ResourceScope:
    """Make the scope of the organisation of this id."""
    return ResourceScope(organisations=frozenset([id_]))


ENDPOINTS = CrudNoun(
    path="/organisations",
    view=OpenAccess.LOGGED_IN,
    edit=EDIT,
    handlers=CrudHandlers(
        list=list_organisations,
        get=get_organisation,
        create=create_organisation,
        change=change_organisation,
        delete=delete_organisation,
    ),
    gives=Organisation,
    new=NewOrganisation,
    change=OrganisationChange,
).endpoints()
