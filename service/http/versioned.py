"""Versioned nouns: rows of the account that are created, changed and deleted with an audit.

A writer says which version it read, so that no change is lost. Organisations, projects, roles and
resource groups share `VersionedNoun`. Permissions and preconditions are each noun's own and are
checked before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec
from aiohttp import web
from sqlalchemy import Table, delete, select, update

from service.audit.audit_record import changed
from service.http import crud
from service.http.call import ApiCall
from service.http.endpoint import ResponseModel
from service.http.fields import text_of
from service.http.problem import ProblemError, not_found
from service.store.rows import find_row, read_row
from service.store.tables import agents

R = TypeVar("R", bound=msgspec.Struct)
A = TypeVar("A", bound=ResponseModel)


class LockedRow(msgspec.Struct, frozen=True, kw_only=True):
    """Columns that a change of a versioned row needs."""

    id: str
    version: int


L = TypeVar("L", bound=LockedRow)


def check(if_match: str, current: str) -> None:
    """`if_match`: an If-Match header, quoted or not; empty is refused."""
    if not if_match:
        raise ProblemError(
            428,
            "expected the version that you read",
            field="If-Match",
            rule="version",
            remedy="Send the ETag of the last GET as If-Match, or its version in the body.",
        )
    if if_match != "*" and if_match.removeprefix("W/").strip('"') != current:
        raise ProblemError(
            412,
            "it was changed after you read it",
            rule="version",
            remedy="Read it again, then repeat your change.",
            version=current,
            headers={"ETag": f'"{current}"'},
        )


def expected(request: web.Request, version: int | str | None) -> str:
    """Read the expected version from the header, else from the body's field."""
    return request.headers.get("If-Match", "") or str(version or "")


async def locked(call: ApiCall, table: Table, what: str, into: type[R]) -> R:
    """Read and lock the row of the path's id until the commit; before the audit's turn."""
    mine = (table.c.id == call.id) & (table.c.account_id == call.account)
    query = select(table).where(mine).with_for_update(key_share=True)
    row = await find_row(call.connection, query, into)
    if row is None:
        raise not_found(f"{what} {call.id}")
    return row


async def change(
    call: ApiCall, table: Table, row: L, values: Mapping[str, Any], version: int | None
) -> L:
    """Change a locked row; refused where it is not the version that the caller saw."""
    check(expected(call.request, version), str(row.version))
    statement = (
        update(table)
        .where(table.c.id == row.id)
        .values(**values, version=table.c.version + 1)
        .returning(*table.c)
    )
    return await read_row(call.connection, statement, type(row))


def values_of(value: Any) -> dict[str, Any]:
    """Read the fields of a PATCH that were sent."""
    return {
        name: getattr(value, name)
        for name in value.__struct_fields__
        if name != "version" and getattr(value, name) is not msgspec.UNSET
    }


async def check_empty(call: ApiCall, what: str, **owner: str) -> None:
    """Agents, and with them applications, are never lost by deleting what they stand in."""
    ((column, id_),) = owner.items()
    query = select(agents.c.name).where(agents.c[column] == id_).limit(1)
    name = await call.connection.scalar(query)
    if name is not None:
        raise ProblemError(
            409,
            f"agent {name} belongs to this {what}",
            rule="in-use",
            remedy="Delete the agent first, then create it elsewhere.",
        )


class VersionedRow(LockedRow, frozen=True, kw_only=True):
    """Columns that every versioned noun has."""

    name: str
    created_at: datetime


V = TypeVar("V", bound=VersionedRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionedNoun(Generic[V]):
    table: Table
    row: type[V]
    """What rows of the table are decoded into."""
    word: str
    """In the audit: `role.created`, `role/deployer`."""
    what: str
    """For people: `resource group`."""

    async def one(self, call: ApiCall) -> V:
        """Read the row of the path's id."""
        return await crud.one(call, self.table, call.id, self.what, self.row)

    async def locked(self, call: ApiCall) -> V:
        """Read and lock the row of the path's id until the commit; before the audit's turn."""
        return await locked(call, self.table, self.what, self.row)

    async def create(self, call: ApiCall, values: Mapping[str, Any], **more: Any) -> V:
        """Insert a row and record it; `more`: what the audit has no use for."""
        row = await crud.add(call, self.table, self.row, **values, **more)
        await call.audit(f"{self.word}.created", self._name(row), detail=values)
        return row

    async def change(
        self, call: ApiCall, before: V, values: Mapping[str, Any], version: int | None
    ) -> V:
        """Change a locked row; refused where it is not the version that the caller saw."""
        after = await change(call, self.table, before, values, version)
        detail = changed({name: getattr(before, name) for name in values}, values)
        await call.audit(f"{self.word}.changed", self._name(before), detail=detail)
        return after

    async def delete(self, call: ApiCall, row: V) -> None:
        await call.connection.execute(delete(self.table).where(self.table.c.id == row.id))
        await call.audit(f"{self.word}.deleted", self._name(row))

    def _name(self, row: V) -> str:
        return f"{self.word}/{row.name}"


def shown(kind: type[A], row: VersionedRow, **renamed: Any) -> A:
    """Make the answer from the columns of its fields' names; `renamed`: its other fields."""
    names = [name for name in kind.__struct_fields__ if name not in renamed]
    columns = {name: getattr(row, name) for name in names}
    return kind(**{**columns, "created_at": text_of(row.created_at)}, **renamed)
