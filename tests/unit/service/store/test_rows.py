"""Rows of queries are decoded into the Struct that the query names."""

from __future__ import annotations

import msgspec
import pytest

from service.store.rows import MissingColumnError, decoded


class NamedRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    permissions: list[str]


def test_columns_that_the_reader_does_not_name_are_left_out() -> None:
    row = {"id": "1", "permissions": ["audit_view"], "created_at": "never read"}
    assert decoded(row, NamedRow) == NamedRow(id="1", permissions=["audit_view"])


def test_a_column_that_the_query_lacks_is_refused_by_its_name() -> None:
    with pytest.raises(MissingColumnError, match=r"NamedRow needs the columns permissions,"):
        decoded({"id": "1"}, NamedRow)
