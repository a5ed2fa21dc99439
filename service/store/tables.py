"""Every table of the service. Three families, and what is lost when a family is.

- *access*: accounts, people, tokens, roles, agents' keys: the service's own truth; back it up.
- *record*: tasks, audit, facts, drifts: what happened; back it up.
- *projection*: objects and what is derived from them: rebuilt from the agents at any time.

No column holds a credential of a cluster or a repository. Times are timezone-aware. Facts, drifts,
tasks and the audit are partitioned by month (service/retention): what is unique in them is so
within a month, and across months by who writes it, under a lock.
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
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id() -> Column[str]:
    """UUIDv7 as text: sorts by time."""
    return Column("id", String(36), primary_key=True)


def _time(name: str, *, default: bool = False) -> Column[object]:
    if default:
        return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())
    return Column(name, DateTime(timezone=True))


def _bound() -> tuple[Column[str], Column[str]]:
    """Of a row that carries a MAC: see service/keys/bound_rows.py."""
    return (
        Column("key_id", String(16), nullable=False, server_default=""),
        Column("mac", String(44), nullable=False, server_default=""),
    )


def _json(name: str, empty: str = "{}") -> Column[object]:
    return Column(name, JSONB, nullable=False, server_default=text(f"'{empty}'::jsonb"))


def _of(table: str, name: str, *, nullable: bool = False) -> Column[str]:
    key = ForeignKey(f"{table}.id", ondelete="CASCADE")
    return Column(name, String(36), key, nullable=nullable, index=True)


# --- access: who may do what, where -------------------------------------------------------------

accounts = Table(
    "accounts",
    metadata,
    _id(),
    Column("name", String(63), nullable=False, unique=True),
    Column("display_name", String(200), nullable=False, server_default=""),
    _time("created_at", default=True),
)

organisations = Table(
    "organisations",
    metadata,
    _id(),
    _of("accounts", "account_id"),
    Column("name", String(63), nullable=False),
    Column("display_name", String(200), nullable=False, server_default=""),
    Column("version", Integer, nullable=False, server_default="1"),
    _time("created_at", default=True),
    UniqueConstraint("account_id", "name"),
)

projects = Table(
    "projects",
    metadata,
    _id(),
    _of("accounts", "account_id"),
    _of("organisations", "organisation_id"),
    Column("name", String(63), nullable=False),
    Column("display_name", String(200), nullable=False, server_default=""),
    Column("app_projects", ARRAY(String(63)), nullable=False, server_default="{}"),
    Column("version", Integer, nullable=False, server_default="1"),
    _time("created_at", default=True),
    UniqueConstraint("organisation_id", "name"),
    comment="app_projects: Argo CD projects whose applications belong here; empty: by name",
)

principals = Table(
    "principals",
    metadata,
    _id(),
    _of("accounts", "account_id"),
    Column("kind", String(16), nullable=False),
    Column("name", String(200), nullable=False),
    Column("display_name", String(200), nullable=False, server_default=""),
    Column("password_hash", String(200), nullable=False, server_default=""),
    Column("disabled", Boolean, nullable=False, server_default="false"),
    Column("version", Integer, nullable=False, server_default="1"),
    _time("created_at", default=True),
    UniqueConstraint("account_id", "name"),
    comment="kind: user (name is the e-mail address) or service",
)

api_tokens = Table(
    "api_tokens",
    metadata,
    _id(),
    _of("accounts", "account_id"),
    _of("principals", "principal_id"),
    Column("name", String(200), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("permissions", ARRAY(String(64)), nullable=False, server_default="{}"),
    _time("created_at", default=True),
    _time("expires_at"),
    _time("used_at"),
    _time("revoked_at"),
    comment="hash: sha256 of the token; permissions: empty means all of its principal's",
)

sessions = Table(
    "sessions",
    metadata,
    Column("hash", String(64), primary_key=True),
    _of("accounts", "account_id"),
    _of("principals", "principal_id"),
    Column("csrf", String(64), nullable=False),
    Column("address", String(64), nullable=False, server_default=""),
    _time("created_at", default=True),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    Column(
        "id",
        String(36),
        nullable=False,
        unique=True,
        server_default=text("(gen_random_uuid())::text"),
    ),
    _time("seen_at", default=True),
    Column("browser", String(200), nullable=False, server_default=""),
)

known_devices = Table(
    "known_devices",
    metadata,
    Column("hash", String(64), primary_key=True),
    _of("accounts", "account_id"),
    _of("principals", "principal_id"),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    comment="hash: of the cookie of a browser that has logged in before; it opens nothing",
)

roles = Table(
    "roles",
    metadata,
    _id(),
    _of("accounts", "account_id"),
    Column("name", String(63), nullable=False),
    Column("permissions", ARRAY(String(64)), nullable=False, server_default="{}"),
    Column("built_in", Boolean, nullable=False, server_default="false"),
    Column("version", Integer, nullable=False, server_default="1"),
    _time("created_at", default=True),
    UniqueConstraint("account_id", "name"),
)

resource_groups = Table(
    "resource_groups",
    metadata,
    _id(),
    _of("accounts", "account_id"),
    Column("name", String(63), nullable=False),
    _json("labels"),
    Column("version", Integer, nullable=False, server_default="1"),
    _time("created_at", default=True),
    UniqueConstraint("account_id", "name"),
    comment="labels: all of them must be on an application for it to be in the group",
)

bindings = Table(
    "bindings",
    metadata,
    _id(),
    _of("accounts", "account_id"),
    _of("principals", "principal_id"),
    _of("roles", "role_id"),
    _of("organisations", "organisation_id", nullable=True),
    _of("projects", "project_id", nullable=True),
    _of("resource_groups", "resource_group_id", nullable=True),
    _time("created_at", default=True),
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

# --- agents -------------------------------------------------------------------------------------

agents = Table(
    "agents",
    metadata,
    _id(),
    _of("accounts", "account_id"),
    _of("organisations", "organisation_id", nullable=True),
    _of("projects", "project_id", nullable=True),
    Column("name", String(63), nullable=False),
    Column("environment", String(63), nullable=False, server_default=""),
    Column("region", String(63), nullable=False, server_default=""),
    _json("labels"),
    Column("state", String(16), nullable=False, server_default="created"),
    Column("cluster_uid", String(64), nullable=False, server_default=""),
    Column("agent_version", String(64), nullable=False, server_default=""),
    Column("capabilities", ARRAY(String(64)), nullable=False, server_default="{}"),
    _json("allowed"),
    _json("components", "[]"),
    Column("fence", BigInteger, nullable=False, server_default="0"),
    Column("connected", Boolean, nullable=False, server_default="false"),
    Column("status", String(16), nullable=False, server_default=""),
    Column("replica", String(64), nullable=False, server_default=""),
    _time("connected_at"),
    _time("heard_at"),
    Column("round_trip_ms", Integer),
    Column("clock_skew_ms", Integer),
    Column("roots_in_step", Boolean),
    _time("roots_at"),
    _json("doubted"),
    _time("rebuilt_at"),
    Column("version", Integer, nullable=False, server_default="1"),
    _time("created_at", default=True),
    UniqueConstraint("account_id", "name"),
    comment="state: created, enrolled, revoked; heard_at: the last sign of life;"
    " status: as people were told last; doubted: kind -> what the guard holds",
)

enrolment_tokens = Table(
    "enrolment_tokens",
    metadata,
    _id(),
    _of("agents", "agent_id"),
    Column("hash", String(64), nullable=False, unique=True),
    Column("cluster_uid", String(64), nullable=False, server_default=""),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    _time("used_at"),
    Column("used_by", String(64), nullable=False, server_default=""),
    _time("created_at", default=True),
    *_bound(),
    comment="used_by: the public key that it was given for; mac: binds the row, until it is used",
)

agent_keys = Table(
    "agent_keys",
    metadata,
    _id(),
    _of("agents", "agent_id"),
    Column("public_key", String(64), nullable=False),
    Column("sealing_key", String(64), nullable=False),
    _time("created_at", default=True),
    _time("used_at"),
    _time("retired_at"),
    *_bound(),
    comment="public keys only; retired_at: not accepted from this moment;"
    " mac: binds the row with key `key_id`, which stands outside the database",
)

challenges = Table(
    "challenges",
    metadata,
    Column("nonce", String(64), primary_key=True),
    _of("agents", "agent_id"),
    Column("expires_at", DateTime(timezone=True), nullable=False),
)

service_keys = Table(
    "service_keys",
    metadata,
    _id(),
    _time("created_at", default=True),
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
    _json("removals"),
    _time("created_at", default=True),
    comment="state: active, quarantined, retired; at most one is active per agent;"
    " removals: kind -> since when, and of how many, objects vanish just now",
)

# --- record: what happened ----------------------------------------------------------------------

facts = Table(
    "facts",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    _of("agents", "agent_id"),
    Column("event_id", String(36), nullable=False),
    Column("type", String(80), nullable=False),
    Column("subject", String(400), nullable=False),
    Column("project", String(63), nullable=False, server_default=""),
    Column("correlation", String(36), nullable=False, server_default=""),
    Column("time", DateTime(timezone=True), primary_key=True),
    _time("agent_time"),
    _time("received_at", default=True),
    _json("body"),
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
    _id(),
    _of("agents", "agent_id"),
    Column("subject", String(400), nullable=False),
    Column("project", String(63), nullable=False, server_default=""),
    Column("object", String(700), nullable=False),
    _json("fields", "[]"),
    Column("actor", String(200), nullable=False, server_default=""),
    Column("began_at", DateTime(timezone=True), primary_key=True),
    _time("ended_at"),
    Column("ended_how", String(16), nullable=False, server_default=""),
    Index("ix_drifts_began", "agent_id", "began_at"),
    comment="ended_how: healed, synced, accepted, gone; empty while it lasts",
    postgresql_partition_by="RANGE (began_at)",
)

tasks = Table(
    "tasks",
    metadata,
    _id(),
    _of("accounts", "account_id"),
    _of("agents", "agent_id"),
    Column("kind", String(16), nullable=False),
    Column("clazz", String(16), nullable=False),
    Column("subject", String(400), nullable=False, server_default=""),
    Column("project", String(63), nullable=False, server_default=""),
    Column("actor", String(200), nullable=False),
    Column("principal_id", String(36)),
    _json("arguments"),
    _json("precondition"),
    Column("idempotency_key", String(200)),
    Column("phase", String(16), nullable=False, server_default="queued"),
    Column("code", String(32), nullable=False, server_default=""),
    Column("message", Text, nullable=False, server_default=""),
    Column("result", JSONB),
    _json("progress"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("fence", BigInteger, nullable=False, server_default="0"),
    _time("not_after"),
    _time("lease_until"),
    _time("created_at", default=True),
    _time("started_at"),
    _time("finished_at"),
    Index("ix_tasks_open", "agent_id", "phase"),
    Index("ix_tasks_unfinished", "phase", postgresql_where=text("finished_at IS NULL")),
    comment="arguments hold references and sealed boxes, never a credential in clear",
    postgresql_partition_by="RANGE (id)",
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
    _json("detail"),
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
    _of("accounts", "account_id"),
    Column("hash", String(64), nullable=False),
    Column("key_id", String(16), nullable=False),
    Column("signature", String(88), nullable=False),
    _time("received_at", default=True),
    comment="signed heads of the audit, as agents gave them back from their own clusters",
)

# --- projection: rebuilt from the agents --------------------------------------------------------

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
    _json("body"),
    comment="states as they came, per epoch: quarantined ones too",
)

applications = Table(
    "applications",
    metadata,
    _id(),
    _of("agents", "agent_id"),
    _of("accounts", "account_id"),
    Column("namespace", String(63), nullable=False),
    Column("name", String(253), nullable=False),
    Column("project", String(63), nullable=False),
    Column("environment", String(63), nullable=False, server_default=""),
    Column("region", String(63), nullable=False, server_default=""),
    Column("service", String(253), nullable=False, server_default=""),
    _json("labels"),
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
    _json("conditions", "[]"),
    Column("running_revision", String(64), nullable=False, server_default=""),
    _time("running_since"),
    Column("running_by", String(200), nullable=False, server_default=""),
    Column("rolled_back", Boolean, nullable=False, server_default="false"),
    Column("cause", JSONB(none_as_null=True)),
    Column("sync_failure", JSONB(none_as_null=True)),
    Column("attention", String(16), nullable=False, server_default=""),
    _time("sync_since"),
    _time("health_since"),
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
    _time("started_at"),
    comment="pods that run: what licences and service dashboards count",
)

changes = Table(
    "changes",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    _of("accounts", "account_id"),
    Column("agent_id", String(36), nullable=False, server_default=""),
    Column("type", String(80), nullable=False),
    Column("subject", String(400), nullable=False),
    Column("project", String(63), nullable=False, server_default=""),
    _time("time", default=True),
    _json("body"),
    Index("ix_changes_account", "account_id", "id"),
    comment="what browsers and subscribers are told; kept for a day, replayed by Last-Event-ID",
)

# --- settings of people and of the account ------------------------------------------------------

filters = Table(
    "filters",
    metadata,
    _id(),
    _of("accounts", "account_id"),
    _of("principals", "principal_id"),
    Column("name", String(200), nullable=False),
    Column("query", Text, nullable=False),
    Column("shared", Boolean, nullable=False, server_default="false"),
    UniqueConstraint("principal_id", "name"),
)

webhooks = Table(
    "webhooks",
    metadata,
    _id(),
    _of("accounts", "account_id"),
    Column("name", String(200), nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("key_id", String(16), nullable=False, server_default=""),
    Column("types", ARRAY(String(80)), nullable=False, server_default="{}"),
    Column("project", String(63), nullable=False, server_default=""),
    Column("enabled", Boolean, nullable=False, server_default="true"),
    Column("cursor", BigInteger, nullable=False, server_default="0"),
    Column("version", Integer, nullable=False, server_default="1"),
    _time("created_at", default=True),
    comment="url and secret are encrypted with key `key_id`; in clear where that is empty",
)

deliveries = Table(
    "deliveries",
    metadata,
    _id(),
    _of("webhooks", "webhook_id"),
    Column("change_id", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("answer", Text, nullable=False, server_default=""),
    _json("body"),
    _time("next_at"),
    _time("created_at", default=True),
    comment="state: waiting, delivered, dead",
)
