"""Tables of settings: saved filters of people, and the account's webhooks with deliveries."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Integer, String, Table, Text, UniqueConstraint
from sqlalchemy.dialects.postgresql import ARRAY

from service.store.tables.columns import id_column, json_column, metadata, reference, time_column

filters = Table(
    "filters",
    metadata,
    id_column(),
    reference("accounts", "account_id"),
    reference("principals", "principal_id"),
    Column("name", String(200), nullable=False),
    Column("query", Text, nullable=False),
    Column("shared", Boolean, nullable=False, server_default="false"),
    UniqueConstraint("principal_id", "name"),
)

webhooks = Table(
    "webhooks",
    metadata,
    id_column(),
    reference("accounts", "account_id"),
    Column("name", String(200), nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("key_id", String(16), nullable=False, server_default=""),
    Column("types", ARRAY(String(80)), nullable=False, server_default="{}"),
    Column("project", String(63), nullable=False, server_default=""),
    Column("enabled", Boolean, nullable=False, server_default="true"),
    Column("cursor", BigInteger, nullable=False, server_default="0"),
    Column("version", Integer, nullable=False, server_default="1"),
    time_column("created_at", default=True),
    comment="url and secret are encrypted with key `key_id`; in clear where that is empty",
)

deliveries = Table(
    "deliveries",
    metadata,
    id_column(),
    reference("webhooks", "webhook_id"),
    Column("change_id", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("answer", Text, nullable=False, server_default=""),
    json_column("body"),
    time_column("next_at"),
    time_column("created_at", default=True),
    comment="state: waiting, delivered, dead",
)
