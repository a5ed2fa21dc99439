"""Tables of the record: facts, drifts, tasks and the audit, which say what happened.

They are partitioned by month (service/retention). What is unique in them is unique within a month;
across months the writers make it so, under a lock. Back them up.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from service.store.tables.columns import id_column, json_column, metadata, reference, time_column

facts = Table(
    "facts",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    reference("agents", "agent_id"),
    Column("event_id", String(36), nullable=False),
    Column("type", String(80), nullable=False),
    Column("subject", String(400), nullable=False),
    Column("project", String(63), nullable=False, server_default=""),
    Column("correlation", String(36), nullable=False, server_default=""),
    Column("time", DateTime(timezone=True), primary_key=True),
    time_column("agent_time"),
    time_column("received_at", default=True),
    json_column("body"),
    UniqueConstraint("agent_id", "event_id", "time"),
    Index("ix_facts_time", "time"),
    Index("ix_facts_subject_time", "agent_id", "subject", "time"),
    Index("ix_facts_correlation", "correlation"),
    comment="time: by the service's clock; agent_time: as told, where the clocks were apart",
    postgresql_partition_by="RANGE (time)",
)

drifts = Table(
    "drifts",
    metadata,
    id_column(),
    reference("agents", "agent_id"),
    Column("subject", String(400), nullable=False),
    Column("project", String(63), nullable=False, server_default=""),
    Column("object", String(700), nullable=False),
    json_column("fields", "[]"),
    Column("actor", String(200), nullable=False, server_default=""),
    Column("began_at", DateTime(timezone=True), primary_key=True),
    time_column("ended_at"),
    Column("ended_how", String(16), nullable=False, server_default=""),
    Index("ix_drifts_began", "agent_id", "began_at"),
    comment="ended_how: healed, synced, accepted, gone; empty while it lasts",
    postgresql_partition_by="RANGE (began_at)",
)

tasks = Table(
    "tasks",
    metadata,
    id_column(),
    reference("accounts", "account_id"),
    reference("agents", "agent_id"),
    Column("kind", String(16), nullable=False),
    Column("clazz", String(16), key="priority", nullable=False),
    Column("subject", String(400), nullable=False, server_default=""),
    Column("project", String(63), nullable=False, server_default=""),
    Column("actor", String(200), nullable=False),
    Column("principal_id", String(36)),
    json_column("arguments"),
    json_column("precondition"),
    Column("idempotency_key", String(200)),
    Column("phase", String(16), nullable=False, server_default="queued"),
    Column("code", String(32), nullable=False, server_default=""),
    Column("message", Text, nullable=False, server_default=""),
    Column("result", JSONB),
    json_column("progress"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("fence", BigInteger, nullable=False, server_default="0"),
    time_column("not_after"),
    time_column("lease_until"),
    time_column("created_at", default=True),
    time_column("started_at"),
    time_column("finished_at"),
    Column("traceparent", String(55), nullable=False, server_default=""),
    Column("tracestate", String(512), nullable=False, server_default=""),
    Column("request_span", String(16), nullable=False, server_default=""),
    Index("ix_tasks_open", "agent_id", "phase"),
    Index("ix_tasks_unfinished", "phase", postgresql_where=text("finished_at IS NULL")),
    comment="arguments hold references and sealed boxes, never a credential in clear",
    postgresql_partition_by="RANGE (id)",
)

open_shells = Table(
    "open_shells",
    metadata,
    Column("task_id", String(36), primary_key=True),
    reference("accounts", "account_id"),
    Column("agent_id", String(36), nullable=False),
    Column("actor", String(200), nullable=False),
    Column("address", String(64), nullable=False),
    Column("subject", String(400), nullable=False),
    Column("project", String(63), nullable=False),
    Column("pod", JSONB, nullable=False),
    Column("output", BigInteger, nullable=False, server_default="0"),
    Column("input", BigInteger, nullable=False, server_default="0"),
    Column("begun_at", DateTime(timezone=True), nullable=False),
    Column("kept_until", DateTime(timezone=True), nullable=False),
    comment="removed by whoever records the end; kept_until: by the database's clock",
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column(
        "account_id", String(36), ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True
    ),
    Column("principal_id", String(36), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("task_id", String(36), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, index=True),
    comment="which task a key of a caller was used for",
)

audit = Table(
    "audit",
    metadata,
    Column("account_id", ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("id", String(36), nullable=False),
    Column("time", DateTime(timezone=True), primary_key=True),
    Column("actor", String(200), nullable=False),
    Column("address", String(64), nullable=False, server_default=""),
    Column("action", String(80), nullable=False),
    Column("resource", String(700), nullable=False),
    Column("project", String(63), nullable=False, server_default=""),
    Column("decision", String(16), nullable=False),
    Column("outcome", String(32), nullable=False, server_default=""),
    Column("source", String(16), nullable=False),
    json_column("detail"),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("key_id", String(16), nullable=False, server_default=""),
    Column("signature", String(88), nullable=False, server_default=""),
    UniqueConstraint("id", "time"),
    Index("ix_audit_account_time", "account_id", "time"),
    comment="append-only: a trigger refuses update and delete; sequence counts without a hole;"
    " signature: over the hash, by a key outside the database",
    postgresql_partition_by="RANGE (time)",
)

audit_checkpoints = Table(
    "audit_checkpoints",
    metadata,
    Column(
        "account_id", String(36), ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True
    ),
    Column("sequence", BigInteger, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("cut_at", DateTime(timezone=True), nullable=False),
    Column("key_id", String(16), nullable=False),
    Column("signature", String(88), nullable=False),
    comment="the last record that retention cut off each audit, signed by a key outside the"
    " database",
)

audit_anchors = Table(
    "audit_anchors",
    metadata,
    Column("agent_id", String(36), ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    reference("accounts", "account_id"),
    Column("hash", String(64), nullable=False),
    Column("key_id", String(16), nullable=False),
    Column("signature", String(88), nullable=False),
    time_column("received_at", default=True),
    comment="signed heads of the audit, as agents gave them back from their own clusters",
)
