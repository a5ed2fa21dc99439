"""CRUD nouns: the five endpoints of what people list, get, create, change and delete, and its rows.

Only the shape is shared: path, methods, status and types, and how a row of the account is found and
added. What each handler does, and whom it refuses, is the noun's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Table, insert, select

from bus.identity import new_id
from service.access.decision import ACCOUNT
from service.access.permissions import Permission
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, Handler, OpenAccess, RequestModel, ResponseModel
from service.http.pages import Page, PageQuery
from service.http.problem import invalid, not_found
from service.store.rows import find_row, read_row

R = TypeVar("R", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrudNoun:
    """One noun of the API with its handlers and the types that they take and give."""

    path: str
    """Of the list, such as `/roles`."""
    view: Permission | OpenAccess
    edit: Permission
    handlers: CrudHandlers
    gives: type[ResponseModel]
    new: type[RequestModel]
    change: type[RequestModel]
    query: type[PageQuery] = PageQuery
    created: type[ResponseModel] | None = None
    """Answer of the creation, where it shows more than later answers do."""

    def endpoints(self) -> tuple[Endpoint, ...]:
        """Make the rows of the API's table."""
        page: Any = Page
        one = f"{self.path}/{{id}}"
        return (
            Endpoint(
                method="GET",
                path=self.path,
                needs=self.view,
                handler=self.handlers.list,
                takes=self.query,
                gives=page[self.gives],
            ),
            Endpoint(
                method="POST",
                path=self.path,
                needs=self.edit,
                handler=self.handlers.create,
                takes=self.new,
                gives=self.created or self.gives,
                status=201,
            ),
            Endpoint(
                method="GET",
                path=one,
                needs=self.view,
                handler=self.handlers.get,
                gives=self.gives,
            ),
            Endpoint(
                method="PATCH",
                path=one,
                needs=self.edit,
                handler=self.handlers.change,
                takes=self.change,
                gives=self.gives,
            ),
            Endpoint(method="DELETE", path=one, needs=self.edit, handler=self.handlers.delete),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CrudHandlers:
    list: Handler
    get: Handler
    create: Handler
    change: Handler
    delete: Handler


async def one(call: ApiCall, table: Table, id_: str, what: str, into: type[R]) -> R:
    """Read the row of this id; raises ProblemError 404 where the account has none."""
    row = await _find(call, table, id_, into)
    if row is None:
        raise not_found(f"{what} {id_}")
    return row


async def add(call: ApiCall, table: Table, into: type[R], **values: Any) -> R:
    """Insert a row of the account, with a new id unless `values` has one."""
    row = {"id": new_id(), "account_id": call.account, **values}
    return await read_row(call.connection, insert(table).values(row).returning(*table.c), into)


async def referred(call: ApiCall, table: Table, id_: str, field: str, into: type[R]) -> R:
    """Read the row that a field of the body names; the refusal names the field."""
    row = await _find(call, table, id_, into)
    if row is None:
        raise invalid(field, f"there is no {field} {id_}", rule="reference")
    return row


def require_account(call: ApiCall, permission: Permission, resource: str) -> None:
    """Require the permission in the whole account."""
    call.require(permission, ACCOUNT, resource)


async def _find(call: ApiCall, table: Table, id_: str, into: type[R]) -> R | None:
    query = select(table).where(table.c.id == id_, table.c.account_id == call.account)
    return await find_row(call.connection, query, into)
