"""Tables of the projection: the state that agents report, and the feed of its changes.

Their rows are made again from the agents at any time.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from service.store.tables.columns import id_column, json_column, metadata, reference, time_column

objects = Table(
    "objects",
    metadata,
    Column("agent_id", String(36), ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True),
    Column("epoch", String(36), primary_key=True),
    Column("kind", String(32), primary_key=True),
    Column("subject", String(400), primary_key=True),
    Column("uid", String(64), nullable=False, server_default=""),
    Column("hash", String(64), nullable=False, server_default=""),
    Column("project", String(63), nullable=False, server_default=""),
    Column("sequence", BigInteger, nullable=False, server_default="0"),
    Column("as_of", DateTime(timezone=True), nullable=False),
    json_column("body"),
    comment="states as they came, per epoch: quarantined ones too",
)

applications = Table(
    "applications",
    metadata,
    id_column(),
    reference("agents", "agent_id"),
    reference("accounts", "account_id"),
    Column("namespace", String(63), nullable=False),
    Column("name", String(253), nullable=False),
    Column("project", String(63), nullable=False),
    Column("environment", String(63), nullable=False, server_default=""),
    Column("region", String(63), nullable=False, server_default=""),
    Column("service", String(253), nullable=False, server_default=""),
    json_column("labels"),
    Column("repository", String(700), nullable=False, server_default=""),
    Column("path", String(700), nullable=False, server_default=""),
    Column("target_revision", String(253), nullable=False, server_default=""),
    Column("revision", String(64), nullable=False, server_default=""),
    Column("sync", String(16), nullable=False),
    Column("health", String(16), nullable=False),
    Column("health_message", Text, nullable=False, server_default=""),
    Column("phase", String(16), nullable=False, server_default=""),
    Column("automated", Boolean, nullable=False, server_default="false"),
    Column("images", ARRAY(Text), nullable=False, server_default="{}"),
    json_column("conditions", "[]"),
    Column("running_revision", String(64), nullable=False, server_default=""),
    time_column("running_since"),
    Column("running_by", String(200), nullable=False, server_default=""),
    Column("rolled_back", Boolean, nullable=False, server_default="false"),
    Column("cause", JSONB(none_as_null=True)),
    json_column("commits", "{}"),
    Column("sync_failure", JSONB(none_as_null=True)),
    Column("attention", String(16), nullable=False, server_default=""),
    time_column("sync_since"),
    time_column("health_since"),
    Column("as_of", DateTime(timezone=True), nullable=False),
    Column("suspect", Boolean, nullable=False, server_default="false"),
    UniqueConstraint("agent_id", "namespace", "name"),
    Index("ix_applications_account_health", "account_id", "health", "sync"),
    comment="id: of agent, namespace and name; suspect: missing in a snapshot, unconfirmed",
)

instances = Table(
    "instances",
    metadata,
    Column("agent_id", String(36), ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True),
    Column("uid", String(64), primary_key=True),
    Column("application_id", String(36), nullable=False, index=True),
    Column("namespace", String(63), nullable=False),
    Column("pod", String(253), nullable=False),
    Column("images", ARRAY(Text), nullable=False, server_default="{}"),
    Column("ready", Boolean, nullable=False, server_default="false"),
    time_column("started_at"),
    comment="pods that run: what licences and service dashboards count",
)

changes = Table(
    "changes",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    reference("accounts", "account_id"),
    Column("agent_id", String(36), nullable=False, server_default=""),
    Column("type", String(80), nullable=False),
    Column("subject", String(400), nullable=False),
    Column("project", String(63), nullable=False, server_default=""),
    time_column("time", default=True),
    json_column("body"),
    Index("ix_changes_account", "account_id", "id"),
    comment="what browsers and subscribers are told; kept for a day, replayed by Last-Event-ID",
)
