"""Tables of agents: their identity, keys and enrolment, and the epochs of their outboxes.

An epoch's row holds the cursor of its outbox, and is the lock under which its items are written.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import ARRAY

from service.store.tables.columns import (
    id_column,
    json_column,
    mac_columns,
    metadata,
    reference,
    time_column,
)

agents = Table(
    "agents",
    metadata,
    id_column(),
    reference("accounts", "account_id"),
    reference("organisations", "organisation_id", nullable=True),
    reference("projects", "project_id", nullable=True),
    Column("name", String(63), nullable=False),
    Column("environment", String(63), nullable=False, server_default=""),
    Column("region", String(63), nullable=False, server_default=""),
    json_column("labels"),
    Column("state", String(16), nullable=False, server_default="created"),
    Column("cluster_uid", String(64), nullable=False, server_default=""),
    Column("agent_version", String(64), nullable=False, server_default=""),
    Column("capabilities", ARRAY(String(64)), nullable=False, server_default="{}"),
    json_column("allowed"),
    json_column("components", "[]"),
    Column("fence", BigInteger, nullable=False, server_default="0"),
    Column("connected", Boolean, nullable=False, server_default="false"),
    Column("status", String(16), nullable=False, server_default=""),
    Column("replica", String(64), nullable=False, server_default=""),
    time_column("connected_at"),
    time_column("heard_at"),
    Column("round_trip_ms", Integer),
    Column("clock_skew_ms", Integer),
    Column("roots_in_step", Boolean),
    time_column("roots_at"),
    json_column("doubted"),
    time_column("rebuilt_at"),
    Column("version", Integer, nullable=False, server_default="1"),
    time_column("created_at", default=True),
    UniqueConstraint("account_id", "name"),
    comment="state: created, enrolled, revoked; heard_at: the last sign of life;"
    " status: as people were told last; doubted: kind -> what the guard holds",
)

enrolment_tokens = Table(
    "enrolment_tokens",
    metadata,
    id_column(),
    reference("agents", "agent_id"),
    Column("hash", String(64), nullable=False, unique=True),
    Column("cluster_uid", String(64), nullable=False, server_default=""),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    time_column("used_at"),
    Column("used_by", String(64), nullable=False, server_default=""),
    time_column("created_at", default=True),
    *mac_columns(),
    comment="used_by: the public key that it was given for; mac: binds the row, until it is used",
)

agent_keys = Table(
    "agent_keys",
    metadata,
    id_column(),
    reference("agents", "agent_id"),
    Column("public_key", String(64), nullable=False),
    Column("sealing_key", String(64), nullable=False),
    time_column("created_at", default=True),
    time_column("used_at"),
    time_column("retired_at"),
    *mac_columns(),
    comment="public keys only; retired_at: not accepted from this moment;"
    " mac: binds the row with key `key_id`, which stands outside the database",
)

challenges = Table(
    "challenges",
    metadata,
    Column("nonce", String(64), primary_key=True),
    reference("agents", "agent_id"),
    Column("expires_at", DateTime(timezone=True), nullable=False),
)

service_keys = Table(
    "service_keys",
    metadata,
    id_column(),
    time_column("created_at", default=True),
    comment="ids of the keys that were used with this database; the keys stand outside of it",
)

epochs = Table(
    "epochs",
    metadata,
    Column("agent_id", String(36), ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True),
    Column("epoch", String(36), primary_key=True),
    Column("cursor", BigInteger, nullable=False, server_default="0"),
    Column("state", String(16), nullable=False),
    Column("reason", Text, nullable=False, server_default=""),
    json_column("removals"),
    time_column("created_at", default=True),
    comment="state: active, quarantined, retired; at most one is active per agent;"
    " removals: kind -> since when, and of how many, objects vanish just now",
)
