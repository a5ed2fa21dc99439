"""The columns that tables share, and the metadata that all tables belong to."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, ForeignKey, MetaData, String, func, text
from sqlalchemy.dialects.postgresql import JSONB

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def id_column() -> Column[str]:
    """Make the primary key: a UUIDv7 as text, which sorts by time."""
    return Column("id", String(36), primary_key=True)


def time_column(name: str, *, default: bool = False) -> Column[object]:
    if default:
        return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())
    return Column(name, DateTime(timezone=True))


def mac_columns() -> tuple[Column[str], Column[str]]:
    """Of a row that carries a MAC: see service/store/protected_columns.py."""
    return (
        Column("key_id", String(16), nullable=False, server_default=""),
        Column("mac", String(44), nullable=False, server_default=""),
    )


def json_column(name: str, empty: str = "{}") -> Column[object]:
    return Column(name, JSONB, nullable=False, server_default=text(f"'{empty}'::jsonb"))


def reference(table: str, name: str, *, nullable: bool = False) -> Column[str]:
    key = ForeignKey(f"{table}.id", ondelete="CASCADE")
    return Column(name, String(36), key, nullable=nullable, index=True)
