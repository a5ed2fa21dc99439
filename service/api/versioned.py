"""A noun of the account whose rows count their versions: made, changed and deleted, and audited.

What is the same for organisations, projects, roles and resource groups. Who may, and what must hold
before, is each noun's own and is asked before these are called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import RowMapping, Table, delete

from service.api import rows, versions
from service.api.call import Call
from service.api.endpoint import Answer
from service.api.fields import text_of
from service.audit.redact import changed

A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Versioned:
    table: Table
    word: str
    """In the audit: `role.created`, `role/deployer`."""
    what: str
    """For people: `resource group`."""

    async def one(self, call: Call) -> RowMapping:
        """Of the path's id."""
        return await rows.one(call, self.table, call.id, self.what)

    async def locked(self, call: Call) -> RowMapping:
        """The same, held until the commit; take it before the audit's turn."""
        return await versions.locked(call, self.table, self.what)

    async def create(self, call: Call, values: Mapping[str, Any], **more: Any) -> RowMapping:
        """`more`: what the audit has no use for."""
        row = await rows.add(call, self.table, **values, **more)
        await call.audit(f"{self.word}.created", self._name(row), detail=values)
        return row

    async def change(
        self, call: Call, before: RowMapping, values: Mapping[str, Any], version: int | None
    ) -> RowMapping:
        """`before` is locked; refused where it is not the version that was seen."""
        after = await versions.change(call, self.table, before, values, version)
        detail = changed({name: before[name] for name in values}, values)
        await call.audit(f"{self.word}.changed", self._name(before), detail=detail)
        return after

    async def delete(self, call: Call, row: RowMapping) -> None:
        await call.connection.execute(delete(self.table).where(self.table.c.id == row["id"]))
        await call.audit(f"{self.word}.deleted", self._name(row))

    def _name(self, row: RowMapping) -> str:
        return f"{self.word}/{row['name']}"


def shown(kind: type[A], row: RowMapping, **said: Any) -> A:
    """Made of the columns of its fields' names; `said`: fields that are named otherwise."""
    columns = {name: row[name] for name in kind.__struct_fields__ if name not in said}
    return kind(**{**columns, "created_at": text_of(row["created_at"])}, **said)
