"""Nobody's change is lost: who writes says which version they saw; rows count their versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from aiohttp import web
from sqlalchemy import RowMapping, Table, select, update

from service.api.call import Call
from service.api.problem import ProblemError, not_found
from service.store.tables import agents


def check(given: str, current: str) -> None:
    """`given`: an If-Match header, quoted or not; empty is refused."""
    if not given:
        raise ProblemError(
            428,
            "expected the version that you read",
            field="If-Match",
            rule="version",
            remedy="Send the ETag of the last GET as If-Match, or its version in the body.",
        )
    if given != "*" and given.removeprefix("W/").strip('"') != current:
        raise ProblemError(
            412,
            "it was changed after you read it",
            rule="version",
            remedy="Read it again, then repeat your change.",
            version=current,
            headers={"ETag": f'"{current}"'},
        )


def expected(request: web.Request, version: int | str | None) -> str:
    """The header where there is one, else the body's field."""
    return request.headers.get("If-Match", "") or str(version or "")


async def locked(call: Call, table: Table, what: str) -> RowMapping:
    """The row of the path's id, held until the commit; take it before the audit's turn."""
    mine = (table.c.id == call.id) & (table.c.account_id == call.account)
    query = select(table).where(mine).with_for_update(key_share=True)
    row = (await call.connection.execute(query)).mappings().one_or_none()
    if row is None:
        raise not_found(f"{what} {call.id}")
    return row


async def change(
    call: Call, table: Table, row: RowMapping, values: Mapping[str, Any], version: int | None
) -> RowMapping:
    """The row after the change; `row` is locked."""
    check(expected(call.request, version), str(row["version"]))
    statement = (
        update(table)
        .where(table.c.id == row["id"])
        .values(**values, version=table.c.version + 1)
        .returning(*table.c)
    )
    return (await call.connection.execute(statement)).mappings().one()


def values_of(given: Any) -> dict[str, Any]:
    """Of a PATCH: the fields that were sent."""
    return {
        name: getattr(given, name)
        for name in given.__struct_fields__
        if name != "version" and getattr(given, name) is not msgspec.UNSET
    }


async def check_empty(call: Call, what: str, **owner: str) -> None:
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
