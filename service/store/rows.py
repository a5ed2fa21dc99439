"""Rows of queries as typed values: each query names the Struct that its rows are decoded into.

A Struct names the columns that its reader uses, so the type checker knows them all, and a column
that the query does not select is refused with its name. PostgreSQL has checked the types already:
nothing is converted here, and the content of a JSON column is as loose as its annotation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Executable, RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

R = TypeVar("R", bound=msgspec.Struct)


class MissingColumnError(LookupError):
    """A query does not select what the type of its rows names; both are in the message."""


async def read_rows(connection: AsyncConnection, query: Executable, into: type[R]) -> list[R]:
    """Execute the query and decode all of its rows."""
    found = await connection.execute(query)
    return [decoded(row, into) for row in found.mappings()]


async def read_row(connection: AsyncConnection, query: Executable, into: type[R]) -> R:
    """Execute a query that has exactly one row; raises sqlalchemy.exc.NoResultFound."""
    found = await connection.execute(query)
    return decoded(found.mappings().one(), into)


async def find_row(connection: AsyncConnection, query: Executable, into: type[R]) -> R | None:
    """Execute a query that has one row or none."""
    found = await connection.execute(query)
    row = found.mappings().one_or_none()
    return None if row is None else decoded(row, into)


def decoded(row: RowMapping | Mapping[str, Any], into: type[R]) -> R:
    """Decode a row, or a mapping of columns that was computed from one."""
    try:
        return into(**{name: row[name] for name in into.__struct_fields__})
    except KeyError as e:
        missing = sorted({*into.__struct_fields__} - {*row})
        raise MissingColumnError(
            f"{into.__name__} needs the columns {', '.join(missing)}, which the query does not"
            " select: add them to the query, or remove the fields"
        ) from e
