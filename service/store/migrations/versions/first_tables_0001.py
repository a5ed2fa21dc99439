"""The first tables, and the trigger that keeps the audit append-only.

Generated from tables.py; a later change of a table is a revision of its own.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_REFUSE = """
CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit is append-only: % refused', TG_OP;
END
$$
"""
_TRIGGER = """
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()
"""


def upgrade() -> None:  # noqa: PLR0915  generated: one statement a table
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("display_name", sa.String(length=200), server_default="", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("name", name=op.f("uq_accounts_name")),
    )
    op.create_table(
        "login_failures",
        sa.Column("key", sa.String(length=300), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_login_failures")),
        comment="key: the name, or the address, that failed; until: refused before this moment",
    )
    op.create_table(
        "service_keys",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_keys")),
        comment="signs sessions of agents; the service's own, it opens no cluster or repository",
    )
    op.create_table(
        "audit",
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("address", sa.String(length=64), server_default="", nullable=False),
        sa.Column("action", sa.String(length=80), nullable=False),
        sa.Column("resource", sa.String(length=700), nullable=False),
        sa.Column("project", sa.String(length=63), server_default="", nullable=False),
        sa.Column("decision", sa.String(length=16), nullable=False),
        sa.Column("outcome", sa.String(length=32), server_default="", nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column(
            "detail",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("previous", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_audit_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "sequence", name=op.f("pk_audit")),
        sa.UniqueConstraint("id", name=op.f("uq_audit_id")),
        comment="append-only: a trigger refuses update and delete; sequence counts without a hole",
    )
    op.create_index("ix_audit_account_time", "audit", ["account_id", "time"], unique=False)
    op.create_table(
        "changes",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("agent_id", sa.String(length=36), server_default="", nullable=False),
        sa.Column("type", sa.String(length=80), nullable=False),
        sa.Column("subject", sa.String(length=400), nullable=False),
        sa.Column("project", sa.String(length=63), server_default="", nullable=False),
        sa.Column(
            "time", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column(
            "body",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_changes_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_changes")),
        comment="what browsers and subscribers are told; kept for a day, replayed by Last-Event-ID",
    )
    op.create_index("ix_changes_account", "changes", ["account_id", "id"], unique=False)
    op.create_index(op.f("ix_changes_account_id"), "changes", ["account_id"], unique=False)
    op.create_table(
        "organisations",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("display_name", sa.String(length=200), server_default="", nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_organisations_account_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organisations")),
        sa.UniqueConstraint("account_id", "name", name=op.f("uq_organisations_account_id_name")),
    )
    op.create_index(
        op.f("ix_organisations_account_id"), "organisations", ["account_id"], unique=False
    )
    op.create_table(
        "principals",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("display_name", sa.String(length=200), server_default="", nullable=False),
        sa.Column("password_hash", sa.String(length=200), server_default="", nullable=False),
        sa.Column("disabled", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_principals_account_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_principals")),
        sa.UniqueConstraint("account_id", "name", name=op.f("uq_principals_account_id_name")),
        comment="kind: user (name is the e-mail address) or service",
    )
    op.create_index(op.f("ix_principals_account_id"), "principals", ["account_id"], unique=False)
    op.create_table(
        "resource_groups",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column(
            "labels",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_resource_groups_account_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_resource_groups")),
        sa.UniqueConstraint("account_id", "name", name=op.f("uq_resource_groups_account_id_name")),
        comment="labels: all of them must be on an application for it to be in the group",
    )
    op.create_index(
        op.f("ix_resource_groups_account_id"), "resource_groups", ["account_id"], unique=False
    )
    op.create_table(
        "roles",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column(
            "permissions",
            postgresql.ARRAY(sa.String(length=64)),
            server_default="{}",
            nullable=False,
        ),
        sa.Column("built_in", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_roles_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_roles")),
        sa.UniqueConstraint("account_id", "name", name=op.f("uq_roles_account_id_name")),
    )
    op.create_index(op.f("ix_roles_account_id"), "roles", ["account_id"], unique=False)
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.String(length=200), nullable=False),
        sa.Column(
            "types", postgresql.ARRAY(sa.String(length=80)), server_default="{}", nullable=False
        ),
        sa.Column("project", sa.String(length=63), server_default="", nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default="true", nullable=False),
        sa.Column("cursor", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_webhooks_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
        comment="secret: made by the service to sign deliveries with; opens nothing",
    )
    op.create_index(op.f("ix_webhooks_account_id"), "webhooks", ["account_id"], unique=False)
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("principal_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column(
            "permissions",
            postgresql.ARRAY(sa.String(length=64)),
            server_default="{}",
            nullable=False,
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_api_tokens_account_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["principal_id"],
            ["principals.id"],
            name=op.f("fk_api_tokens_principal_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_api_tokens_hash")),
        comment="hash: sha256 of the token; permissions: empty means all of its principal's",
    )
    op.create_index(op.f("ix_api_tokens_account_id"), "api_tokens", ["account_id"], unique=False)
    op.create_index(
        op.f("ix_api_tokens_principal_id"), "api_tokens", ["principal_id"], unique=False
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("webhook_id", sa.String(length=36), nullable=False),
        sa.Column("change_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("answer", sa.Text(), server_default="", nullable=False),
        sa.Column(
            "body",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["webhook_id"],
            ["webhooks.id"],
            name=op.f("fk_deliveries_webhook_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
        comment="state: waiting, delivered, dead",
    )
    op.create_index(op.f("ix_deliveries_webhook_id"), "deliveries", ["webhook_id"], unique=False)
    op.create_table(
        "filters",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("principal_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("shared", sa.Boolean(), server_default="false", nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_filters_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["principal_id"],
            ["principals.id"],
            name=op.f("fk_filters_principal_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_filters")),
        sa.UniqueConstraint("principal_id", "name", name=op.f("uq_filters_principal_id_name")),
    )
    op.create_index(op.f("ix_filters_account_id"), "filters", ["account_id"], unique=False)
    op.create_index(op.f("ix_filters_principal_id"), "filters", ["principal_id"], unique=False)
    op.create_table(
        "projects",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("organisation_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("display_name", sa.String(length=200), server_default="", nullable=False),
        sa.Column(
            "app_projects",
            postgresql.ARRAY(sa.String(length=63)),
            server_default="{}",
            nullable=False,
        ),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_projects_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["organisation_id"],
            ["organisations.id"],
            name=op.f("fk_projects_organisation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
        sa.UniqueConstraint(
            "organisation_id", "name", name=op.f("uq_projects_organisation_id_name")
        ),
        comment="app_projects: Argo CD projects whose applications belong here; empty: by name",
    )
    op.create_index(op.f("ix_projects_account_id"), "projects", ["account_id"], unique=False)
    op.create_index(
        op.f("ix_projects_organisation_id"), "projects", ["organisation_id"], unique=False
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("principal_id", sa.String(length=36), nullable=False),
        sa.Column("csrf", sa.String(length=64), nullable=False),
        sa.Column("address", sa.String(length=64), server_default="", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_sessions_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["principal_id"],
            ["principals.id"],
            name=op.f("fk_sessions_principal_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_account_id"), "sessions", ["account_id"], unique=False)
    op.create_index(op.f("ix_sessions_principal_id"), "sessions", ["principal_id"], unique=False)
    op.create_table(
        "agents",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("organisation_id", sa.String(length=36), nullable=True),
        sa.Column("project_id", sa.String(length=36), nullable=True),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("environment", sa.String(length=63), server_default="", nullable=False),
        sa.Column("region", sa.String(length=63), server_default="", nullable=False),
        sa.Column(
            "labels",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("state", sa.String(length=16), server_default="created", nullable=False),
        sa.Column("cluster_uid", sa.String(length=64), server_default="", nullable=False),
        sa.Column("agent_version", sa.String(length=64), server_default="", nullable=False),
        sa.Column(
            "capabilities",
            postgresql.ARRAY(sa.String(length=64)),
            server_default="{}",
            nullable=False,
        ),
        sa.Column(
            "allowed",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "components",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'[]'::jsonb"),
            nullable=False,
        ),
        sa.Column("fence", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("connected", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("replica", sa.String(length=64), server_default="", nullable=False),
        sa.Column("connected_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("heard_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("round_trip_ms", sa.Integer(), nullable=True),
        sa.Column("clock_skew_ms", sa.Integer(), nullable=True),
        sa.Column("roots_in_step", sa.Boolean(), nullable=True),
        sa.Column("roots_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_agents_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["organisation_id"],
            ["organisations.id"],
            name=op.f("fk_agents_organisation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_agents_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agents")),
        sa.UniqueConstraint("account_id", "name", name=op.f("uq_agents_account_id_name")),
        comment="state: created, enrolled, revoked; heard_at: the last sign of life",
    )
    op.create_index(op.f("ix_agents_account_id"), "agents", ["account_id"], unique=False)
    op.create_index(op.f("ix_agents_organisation_id"), "agents", ["organisation_id"], unique=False)
    op.create_index(op.f("ix_agents_project_id"), "agents", ["project_id"], unique=False)
    op.create_table(
        "bindings",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("principal_id", sa.String(length=36), nullable=False),
        sa.Column("role_id", sa.String(length=36), nullable=False),
        sa.Column("organisation_id", sa.String(length=36), nullable=True),
        sa.Column("project_id", sa.String(length=36), nullable=True),
        sa.Column("resource_group_id", sa.String(length=36), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_bindings_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["organisation_id"],
            ["organisations.id"],
            name=op.f("fk_bindings_organisation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["principal_id"],
            ["principals.id"],
            name=op.f("fk_bindings_principal_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_bindings_project_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["resource_group_id"],
            ["resource_groups.id"],
            name=op.f("fk_bindings_resource_group_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["role_id"], ["roles.id"], name=op.f("fk_bindings_role_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bindings")),
        comment="neither organisation nor project: the whole account",
    )
    op.create_index(op.f("ix_bindings_account_id"), "bindings", ["account_id"], unique=False)
    op.create_index(
        op.f("ix_bindings_organisation_id"), "bindings", ["organisation_id"], unique=False
    )
    op.create_index(op.f("ix_bindings_principal_id"), "bindings", ["principal_id"], unique=False)
    op.create_index(op.f("ix_bindings_project_id"), "bindings", ["project_id"], unique=False)
    op.create_index(
        op.f("ix_bindings_resource_group_id"), "bindings", ["resource_group_id"], unique=False
    )
    op.create_index(op.f("ix_bindings_role_id"), "bindings", ["role_id"], unique=False)
    op.create_table(
        "agent_keys",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("agent_id", sa.String(length=36), nullable=False),
        sa.Column("public_key", sa.String(length=64), nullable=False),
        sa.Column("sealing_key", sa.String(length=64), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_agent_keys_agent_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_keys")),
        comment="public keys only; retired_at: not accepted from this moment",
    )
    op.create_index(op.f("ix_agent_keys_agent_id"), "agent_keys", ["agent_id"], unique=False)
    op.create_table(
        "applications",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("agent_id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("namespace", sa.String(length=63), nullable=False),
        sa.Column("name", sa.String(length=253), nullable=False),
        sa.Column("project", sa.String(length=63), nullable=False),
        sa.Column("environment", sa.String(length=63), server_default="", nullable=False),
        sa.Column("region", sa.String(length=63), server_default="", nullable=False),
        sa.Column("service", sa.String(length=253), server_default="", nullable=False),
        sa.Column(
            "labels",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("repository", sa.String(length=700), server_default="", nullable=False),
        sa.Column("path", sa.String(length=700), server_default="", nullable=False),
        sa.Column("target_revision", sa.String(length=253), server_default="", nullable=False),
        sa.Column("revision", sa.String(length=64), server_default="", nullable=False),
        sa.Column("sync", sa.String(length=16), nullable=False),
        sa.Column("health", sa.String(length=16), nullable=False),
        sa.Column("health_message", sa.Text(), server_default="", nullable=False),
        sa.Column("phase", sa.String(length=16), server_default="", nullable=False),
        sa.Column("automated", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("images", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column(
            "conditions",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'[]'::jsonb"),
            nullable=False,
        ),
        sa.Column("sync_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("health_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("as_of", sa.DateTime(timezone=True), nullable=False),
        sa.Column("suspect", sa.Boolean(), server_default="false", nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_applications_account_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_applications_agent_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_applications")),
        sa.UniqueConstraint(
            "agent_id", "namespace", "name", name=op.f("uq_applications_agent_id_namespace_name")
        ),
        comment="id: of agent, namespace and name; suspect: missing in a snapshot, unconfirmed",
    )
    op.create_index(
        "ix_applications_account_health",
        "applications",
        ["account_id", "health", "sync"],
        unique=False,
    )
    op.create_index(
        op.f("ix_applications_account_id"), "applications", ["account_id"], unique=False
    )
    op.create_index(op.f("ix_applications_agent_id"), "applications", ["agent_id"], unique=False)
    op.create_table(
        "challenges",
        sa.Column("nonce", sa.String(length=64), nullable=False),
        sa.Column("agent_id", sa.String(length=36), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_challenges_agent_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("nonce", name=op.f("pk_challenges")),
    )
    op.create_index(op.f("ix_challenges_agent_id"), "challenges", ["agent_id"], unique=False)
    op.create_table(
        "drifts",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("agent_id", sa.String(length=36), nullable=False),
        sa.Column("subject", sa.String(length=400), nullable=False),
        sa.Column("project", sa.String(length=63), server_default="", nullable=False),
        sa.Column("object", sa.String(length=700), nullable=False),
        sa.Column(
            "fields",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'[]'::jsonb"),
            nullable=False,
        ),
        sa.Column("actor", sa.String(length=200), server_default="", nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_how", sa.String(length=16), server_default="", nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_drifts_agent_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drifts")),
        comment="ended_how: healed, synced, accepted, gone; empty while it lasts",
    )
    op.create_index(op.f("ix_drifts_agent_id"), "drifts", ["agent_id"], unique=False)
    op.create_index("ix_drifts_began", "drifts", ["agent_id", "began_at"], unique=False)
    op.create_table(
        "enrolment_tokens",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("agent_id", sa.String(length=36), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("cluster_uid", sa.String(length=64), server_default="", nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"],
            ["agents.id"],
            name=op.f("fk_enrolment_tokens_agent_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_enrolment_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_enrolment_tokens_hash")),
    )
    op.create_index(
        op.f("ix_enrolment_tokens_agent_id"), "enrolment_tokens", ["agent_id"], unique=False
    )
    op.create_table(
        "epochs",
        sa.Column("agent_id", sa.String(length=36), nullable=False),
        sa.Column("epoch", sa.String(length=36), nullable=False),
        sa.Column("cursor", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_epochs_agent_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("agent_id", "epoch", name=op.f("pk_epochs")),
        comment="state: active, quarantined, retired; at most one is active per agent",
    )
    op.create_table(
        "facts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("agent_id", sa.String(length=36), nullable=False),
        sa.Column("event_id", sa.String(length=36), nullable=False),
        sa.Column("type", sa.String(length=80), nullable=False),
        sa.Column("subject", sa.String(length=400), nullable=False),
        sa.Column("project", sa.String(length=63), server_default="", nullable=False),
        sa.Column("correlation", sa.String(length=36), server_default="", nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "received_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column(
            "body",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_facts_agent_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_facts")),
        sa.UniqueConstraint("agent_id", "event_id", name=op.f("uq_facts_agent_id_event_id")),
    )
    op.create_index(op.f("ix_facts_agent_id"), "facts", ["agent_id"], unique=False)
    op.create_index("ix_facts_correlation", "facts", ["correlation"], unique=False)
    op.create_index("ix_facts_subject_time", "facts", ["agent_id", "subject", "time"], unique=False)
    op.create_index("ix_facts_time", "facts", ["time"], unique=False)
    op.create_table(
        "instances",
        sa.Column("agent_id", sa.String(length=36), nullable=False),
        sa.Column("uid", sa.String(length=64), nullable=False),
        sa.Column("application_id", sa.String(length=36), nullable=False),
        sa.Column("namespace", sa.String(length=63), nullable=False),
        sa.Column("pod", sa.String(length=253), nullable=False),
        sa.Column("images", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("ready", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_instances_agent_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("agent_id", "uid", name=op.f("pk_instances")),
        comment="pods that run: what licences and service dashboards count",
    )
    op.create_index(
        op.f("ix_instances_application_id"), "instances", ["application_id"], unique=False
    )
    op.create_table(
        "objects",
        sa.Column("agent_id", sa.String(length=36), nullable=False),
        sa.Column("epoch", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=400), nullable=False),
        sa.Column("uid", sa.String(length=64), server_default="", nullable=False),
        sa.Column("hash", sa.String(length=64), server_default="", nullable=False),
        sa.Column("project", sa.String(length=63), server_default="", nullable=False),
        sa.Column("sequence", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("as_of", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "body",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_objects_agent_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("agent_id", "epoch", "kind", "subject", name=op.f("pk_objects")),
        comment="states as they came, per epoch: quarantined ones too",
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("agent_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("clazz", sa.String(length=16), nullable=False),
        sa.Column("subject", sa.String(length=400), server_default="", nullable=False),
        sa.Column("project", sa.String(length=63), server_default="", nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("principal_id", sa.String(length=36), nullable=True),
        sa.Column(
            "arguments",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "precondition",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("idempotency_key", sa.String(length=200), nullable=True),
        sa.Column("phase", sa.String(length=16), server_default="queued", nullable=False),
        sa.Column("code", sa.String(length=32), server_default="", nullable=False),
        sa.Column("message", sa.Text(), server_default="", nullable=False),
        sa.Column("result", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column(
            "progress",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("fence", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("not_after", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_tasks_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_tasks_agent_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
        sa.UniqueConstraint(
            "account_id",
            "principal_id",
            "idempotency_key",
            name=op.f("uq_tasks_account_id_principal_id_idempotency_key"),
        ),
        comment="arguments hold references and sealed boxes, never a credential in clear",
    )
    op.create_index(op.f("ix_tasks_account_id"), "tasks", ["account_id"], unique=False)
    op.create_index(op.f("ix_tasks_agent_id"), "tasks", ["agent_id"], unique=False)
    op.create_index("ix_tasks_open", "tasks", ["agent_id", "phase"], unique=False)

    op.execute(_REFUSE)
    op.execute(_TRIGGER)


def downgrade() -> None:
    """There is nothing before the first tables."""
    raise NotImplementedError("drop the database instead")
