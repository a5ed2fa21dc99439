"""Tables of access: accounts, people, tokens, roles and bindings.

They are the service's own truth and cannot be made again from anything else: back them up.
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, DateTime, Integer, String, Table, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import ARRAY

from service.store.tables.columns import id_column, json_column, metadata, reference, time_column

accounts = Table(
    "accounts",
    metadata,
    id_column(),
    Column("name", String(63), nullable=False, unique=True),
    Column("display_name", String(200), nullable=False, server_default=""),
    time_column("created_at", default=True),
)

organisations = Table(
    "organisations",
    metadata,
    id_column(),
    reference("accounts", "account_id"),
    Column("name", String(63), nullable=False),
    Column("display_name", String(200), nullable=False, server_default=""),
    Column("version", Integer, nullable=False, server_default="1"),
    time_column("created_at", default=True),
    UniqueConstraint("account_id", "name"),
)

projects = Table(
    "projects",
    metadata,
    id_column(),
    reference("accounts", "account_id"),
    reference("organisations", "organisation_id"),
    Column("name", String(63), nullable=False),
    Column("display_name", String(200), nullable=False, server_default=""),
    Column("app_projects", ARRAY(String(63)), nullable=False, server_default="{}"),
    Column("version", Integer, nullable=False, server_default="1"),
    time_column("created_at", default=True),
    UniqueConstraint("organisation_id", "name"),
    comment="app_projects: Argo CD projects whose applications belong here; empty: by name",
)

principals = Table(
    "principals",
    metadata,
    id_column(),
    reference("accounts", "account_id"),
    Column("kind", String(16), nullable=False),
    Column("name", String(200), nullable=False),
    Column("display_name", String(200), nullable=False, server_default=""),
    Column("password_hash", String(200), nullable=False, server_default=""),
    Column("disabled", Boolean, nullable=False, server_default="false"),
    Column("version", Integer, nullable=False, server_default="1"),
    time_column("created_at", default=True),
    UniqueConstraint("account_id", "name"),
    comment="kind: user (name is the e-mail address) or service",
)

api_tokens = Table(
    "api_tokens",
    metadata,
    id_column(),
    reference("accounts", "account_id"),
    reference("principals", "principal_id"),
    Column("name", String(200), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("permissions", ARRAY(String(64)), nullable=False, server_default="{}"),
    time_column("created_at", default=True),
    time_column("expires_at"),
    time_column("used_at"),
    time_column("revoked_at"),
    comment="hash: sha256 of the token; permissions: empty means all of its principal's",
)

sessions = Table(
    "sessions",
    metadata,
    Column("hash", String(64), primary_key=True),
    reference("accounts", "account_id"),
    reference("principals", "principal_id"),
    Column("csrf", String(64), nullable=False),
    Column("address", String(64), nullable=False, server_default=""),
    time_column("created_at", default=True),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    Column(
        "id",
        String(36),
        nullable=False,
        unique=True,
        server_default=text("(gen_random_uuid())::text"),
    ),
    time_column("seen_at", default=True),
    Column("browser", String(200), nullable=False, server_default=""),
)

known_devices = Table(
    "known_devices",
    metadata,
    Column("hash", String(64), primary_key=True),
    reference("accounts", "account_id"),
    reference("principals", "principal_id"),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    comment="hash: of the cookie of a browser that has logged in before; it opens nothing",
)

roles = Table(
    "roles",
    metadata,
    id_column(),
    reference("accounts", "account_id"),
    Column("name", String(63), nullable=False),
    Column("permissions", ARRAY(String(64)), nullable=False, server_default="{}"),
    Column("built_in", Boolean, nullable=False, server_default="false"),
    Column("version", Integer, nullable=False, server_default="1"),
    time_column("created_at", default=True),
    Column("actions", ARRAY(String(430)), nullable=False, server_default="{}"),
    UniqueConstraint("account_id", "name"),
    comment="actions: patterns of resource actions, as action/apps/Deployment/restart",
)

resource_groups = Table(
    "resource_groups",
    metadata,
    id_column(),
    reference("accounts", "account_id"),
    Column("name", String(63), nullable=False),
    json_column("labels"),
    Column("version", Integer, nullable=False, server_default="1"),
    time_column("created_at", default=True),
    UniqueConstraint("account_id", "name"),
    comment="labels: all of them must be on an application for it to be in the group",
)

bindings = Table(
    "bindings",
    metadata,
    id_column(),
    reference("accounts", "account_id"),
    reference("principals", "principal_id"),
    reference("roles", "role_id"),
    reference("organisations", "organisation_id", nullable=True),
    reference("projects", "project_id", nullable=True),
    reference("resource_groups", "resource_group_id", nullable=True),
    time_column("created_at", default=True),
    comment="neither organisation nor project: the whole account",
)

login_failures = Table(
    "login_failures",
    metadata,
    Column("key", String(300), primary_key=True),
    Column("count", Integer, nullable=False),
    Column("until", DateTime(timezone=True), nullable=False),
    comment="key: what attempts to log in are counted by; until: refused before this moment",
)
