"""Pages of long lists, by the key of the last item and never by counting rows.

A cursor holds that key and fits only the list that it came from: the same path, order and filters.
Callers do not look into it; its content is checked again when it comes back.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Select, and_, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from service.http.endpoint import RequestModel, ResponseModel
from service.http.problem import ProblemError
from service.store.rows import decoded

T = TypeVar("T")
A = TypeVar("A")
R = TypeVar("R", bound=msgspec.Struct)
_MARK = 12


class PageQuery(RequestModel, frozen=True, kw_only=True):
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 100
    cursor: Annotated[str, msgspec.Meta(max_length=2000)] = ""


class Page(ResponseModel, Generic[T], frozen=True, kw_only=True):
    items: list[T]
    next: str | None = None
    """The cursor of the next page; null on the last one."""
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOrder:
    """Columns that together are unique, all in one direction."""

    columns: Sequence[ColumnElement[Any]]
    descending: bool = False

    def after(self, values: Sequence[Any]) -> ColumnElement[bool]:
        """Select what follows an item; its first column alone leaves out partitions."""
        # Row comparison: (a, b) > (x, y) continues exactly after the last item, also among equal a.
        here, there = tuple_(*self.columns), tuple_(*values)
        first, last = self.columns[0], values[0]
        if self.descending:
            return and_(here < there, first <= last)
        return and_(here > there, first >= last)

    def terms(self) -> list[ColumnElement[Any]]:
        return [it.desc() if self.descending else it.asc() for it in self.columns]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRows(Generic[T]):
    """The rows of one page, and the cursor of the next."""

    rows: Sequence[T]
    next: str | None

    def page(self, shown: Callable[[T], A]) -> Page[A]:
        """Make the page that is answered; `shown` makes an item of a row."""
        return Page(items=[shown(row) for row in self.rows], next=self.next)


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedList(Generic[R]):
    """A list that is read by pages: its name, its order, and the type of its rows."""

    name: str
    """Account and path: a cursor fits no other list."""
    order: PageOrder
    into: type[R]


async def read_page(
    connection: AsyncConnection, query: Select[Any], params: PageQuery, paged: PagedList[R]
) -> PageRows[R]:
    """Read one page of the query; the filters of the cursor are taken from `params`."""
    mark, order = _mark(paged.name, params), paged.order
    if params.cursor:
        query = query.where(order.after(_values(params.cursor, mark, order)))
    # One row more than asked for tells whether there is a next page without counting.
    keys = [it.label(f"_key{number}") for number, it in enumerate(order.columns)]
    query = query.add_columns(*keys).order_by(*order.terms()).limit(params.limit + 1)
    rows = (await connection.execute(query)).mappings().all()
    if len(rows) <= params.limit:
        return PageRows(rows=[decoded(row, paged.into) for row in rows], next=None)
    last = rows[params.limit - 1]
    values = [last[f"_key{number}"] for number in range(len(order.columns))]
    kept = [decoded(row, paged.into) for row in rows[: params.limit]]
    return PageRows(rows=kept, next=_cursor(values, mark))


def _mark(name: str, params: PageQuery) -> bytes:
    fields = {
        field: getattr(params, field)
        for field in params.__struct_fields__
        if field not in ("cursor", "limit")
    }
    plain = msgspec.json.encode([name, fields], order="deterministic")
    return hashlib.sha256(plain).digest()[:_MARK]


def _cursor(values: Sequence[Any], mark: bytes) -> str:
    return urlsafe_b64encode(mark + msgspec.json.encode(values)).decode().rstrip("=")


def _values(cursor: str, mark: bytes, order: PageOrder) -> list[Any]:
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
    # The mark is a hash of list and filters: a cursor of another query would skip rows silently.
    if raw[:_MARK] != mark or not isinstance(values, list) or len(values) != len(order.columns):
        raise problem
    try:
        return [_read(it, kind) for it, kind in zip(values, order.columns, strict=True)]
    except (ValueError, TypeError) as e:
        raise problem from e


def _read(value: Any, column: ColumnElement[Any]) -> Any:
    expected = column.type.python_type
    if expected is datetime:
        return datetime.fromisoformat(value)
    # True is an int for Python, and no number for PostgreSQL.
    if not isinstance(value, expected) or isinstance(value, bool) is not (expected is bool):
        raise TypeError
    if isinstance(value, str) and "\0" in value:
        raise TypeError
    return value
