"""Organisations: the first division of an account."""

from __future__ import annotations

import msgspec
from sqlalchemy import ColumnElement, RowMapping, false, or_, select, true

from service.access.permissions import Permission
from service.access.values import Place
from service.api import rows, versions
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing, Open
from service.api.fields import Name, Text, Version
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.problem import DeniedError
from service.api.versioned import Versioned, shown
from service.store.tables import organisations, projects

EDIT = Permission.ACCESS_EDIT
NOUN = Versioned(table=organisations, word="organisation", what="organisation")


class NewOrganisation(Given, frozen=True, kw_only=True):
    name: Name
    display_name: Text = ""


class OrganisationChange(Given, frozen=True, kw_only=True):
    display_name: Text | msgspec.UnsetType = msgspec.UNSET
    version: Version | None = None


class Organisation(Answer, frozen=True, kw_only=True):
    id: str
    name: str
    display_name: str
    version: int
    created_at: str | None


async def list_organisations(call: Call, given: PageQuery) -> Page[Organisation]:
    """Those one was given anything in."""
    query = select(organisations).where(organisations.c.account_id == call.account, _reached(call))
    order = Order(columns=(organisations.c.name,))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/organisations")
    return Page(items=[shown(Organisation, row) for row in found.rows], next=found.next)


async def get_organisation(call: Call, _given: Nothing) -> Organisation:
    """One organisation."""
    return shown(Organisation, await _find(call))


async def create_organisation(call: Call, given: NewOrganisation) -> Organisation:
    """Make one; it needs access_edit in the whole account."""
    rows.require_account(call, EDIT, f"organisation {given.name}")
    values = {"name": given.name, "display_name": given.display_name}
    return shown(Organisation, await NOUN.create(call, values))


async def change_organisation(call: Call, given: OrganisationChange) -> Organisation:
    """Change what people read; the name is for machines and stays."""
    row = await _find(call)
    call.require(EDIT, _place(row), f"organisation {row['name']}")
    before = await NOUN.locked(call)
    after = await NOUN.change(call, before, versions.values_of(given), given.version)
    return shown(Organisation, after)


async def delete_organisation(call: Call, _given: Nothing) -> None:
    """Delete it with its projects and their bindings; its agents must be gone before."""
    row = await _find(call)
    rows.require_account(call, EDIT, f"organisation {row['name']}")
    await versions.check_empty(call, "organisation", organisation_id=row["id"])
    await NOUN.delete(call, row)


async def _find(call: Call) -> RowMapping:
    row = await NOUN.one(call)
    seen = select(organisations.c.id).where(organisations.c.id == row["id"], _reached(call))
    if await call.connection.scalar(seen) is None:
        raise DeniedError(Permission.ACCESS_VIEW, f"organisation {call.id}", status=404)
    return row


def _reached(call: Call) -> ColumnElement[bool]:
    scopes = [it.scope for it in call.caller.bindings if it.permissions]
    if any(not (it.organisation or it.project) for it in scopes):
        return true()
    owning = select(projects.c.organisation_id).where(
        projects.c.id.in_([it.project for it in scopes if it.project])
    )
    named = [it.organisation for it in scopes if it.organisation]
    return or_(false(), organisations.c.id.in_(named), organisations.c.id.in_(owning))


def _place(row: RowMapping) -> Place:
    return rows.organisation_place(row["id"])


_LOGGED_IN = Open.LOGGED_IN
ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/organisations",
        needs=_LOGGED_IN,
        handler=list_organisations,
        takes=PageQuery,
        gives=Page[Organisation],
    ),
    Endpoint(
        method="POST",
        path="/organisations",
        needs=EDIT,
        handler=create_organisation,
        takes=NewOrganisation,
        gives=Organisation,
        status=201,
    ),
    Endpoint(
        method="GET",
        path="/organisations/{id}",
        needs=_LOGGED_IN,
        handler=get_organisation,
        gives=Organisation,
    ),
    Endpoint(
        method="PATCH",
        path="/organisations/{id}",
        needs=EDIT,
        handler=change_organisation,
        takes=OrganisationChange,
        gives=Organisation,
    ),
    Endpoint(method="DELETE", path="/organisations/{id}", needs=EDIT, handler=delete_organisation),
)
