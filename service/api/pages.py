"""Long lists a page at a time: by the key of the last item, never by counting rows.

A cursor holds that key and fits only the list it came from: the same path, order and filters. It is
opaque to callers; what it may hold is checked again when it comes back.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from sqlalchemy import ColumnElement, RowMapping, Select, and_, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from service.api.endpoint import Answer, Given
from service.api.problem import ProblemError

T = TypeVar("T")
_MARK = 12


class PageQuery(Given, frozen=True, kw_only=True):
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 100
    cursor: Annotated[str, msgspec.Meta(max_length=2000)] = ""


class Page(Answer, Generic[T], frozen=True, kw_only=True):
    items: list[T]
    next: str | None = None
    """The cursor of the next page; null on the last one."""
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Columns that together are unique, all in one direction."""

    columns: Sequence[ColumnElement[Any]]
    descending: bool = False

    def after(self, values: Sequence[Any]) -> ColumnElement[bool]:
        """The first column is compared by itself too: PostgreSQL leaves out partitions by that."""
        here, there = tuple_(*self.columns), tuple_(*values)
        first, last = self.columns[0], values[0]
        if self.descending:
            return and_(here < there, first <= last)
        return and_(here > there, first >= last)

    def terms(self) -> list[ColumnElement[Any]]:
        return [it.desc() if self.descending else it.asc() for it in self.columns]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    rows: Sequence[RowMapping]
    next: str | None


async def rows_of(
    connection: AsyncConnection, query: Select[Any], order: Order, given: PageQuery, place: str
) -> Rows:
    """`place`: the account and path; the filters are taken from `given`."""
    mark = _mark(place, given)
    if given.cursor:
        query = query.where(order.after(_values(given.cursor, mark, order)))
    keys = [it.label(f"_key{number}") for number, it in enumerate(order.columns)]
    query = query.add_columns(*keys).order_by(*order.terms()).limit(given.limit + 1)
    rows = (await connection.execute(query)).mappings().all()
    if len(rows) <= given.limit:
        return Rows(rows=rows, next=None)
    last = rows[given.limit - 1]
    values = [last[f"_key{number}"] for number in range(len(order.columns))]
    return Rows(rows=rows[: given.limit], next=_cursor(values, mark))


def _mark(place: str, given: PageQuery) -> bytes:
    fields = {
        name: getattr(given, name)
        for name in given.__struct_fields__
        if name not in ("cursor", "limit")
    }
    plain = msgspec.json.encode([place, fields], order="deterministic")
    return hashlib.sha256(plain).digest()[:_MARK]


def _cursor(values: Sequence[Any], mark: bytes) -> str:
    return urlsafe_b64encode(mark + msgspec.json.encode(values)).decode().rstrip("=")


def _values(cursor: str, mark: bytes, order: Order) -> list[Any]:
    problem = ProblemError(
        400,
        "the cursor does not belong to this list",
        field="cursor",
        rule="cursor",
        remedy="Begin again without a cursor, with the same filters for every page.",
    )
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        values = msgspec.json.decode(raw[_MARK:])
    except (ValueError, msgspec.DecodeError) as e:
        raise problem from e
    if raw[:_MARK] != mark or not isinstance(values, list) or len(values) != len(order.columns):
        raise problem
    try:
        return [_read(it, kind) for it, kind in zip(values, order.columns, strict=True)]
    except (ValueError, TypeError) as e:
        raise problem from e


def _read(value: Any, column: ColumnElement[Any]) -> Any:
    wanted = column.type.python_type
    if wanted is datetime:
        return datetime.fromisoformat(value)
    if not isinstance(value, wanted) or (isinstance(value, str) and "\0" in value):
        raise TypeError
    return value
