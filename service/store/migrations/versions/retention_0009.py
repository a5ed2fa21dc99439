"""Facts, drifts, tasks and the audit in a partition a month, so that old months can be dropped.

The tables are made anew beside their rows, which are copied. Each has a default partition besides,
`<table>_other`, for rows outside every month: what must survive the drop of its month goes there.

The service's role owns no table, so it makes and drops partitions by three functions of the owner.
They know which rows may go: no drift that lasts, no task that runs, of the audit nothing that is
younger than 90 days by the database's clock, and only what a checkpoint says was cut.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_PARENTS = {"facts": "time", "drifts": "began_at", "tasks": "id", "audit": "time"}
"""Table and key of its partitions; ids of tasks are UUIDs of version 7, which sort by time."""

_CHECKPOINTS = """
CREATE TABLE audit_checkpoints (
    account_id varchar(36) NOT NULL,
    sequence bigint NOT NULL,
    hash varchar(64) NOT NULL,
    cut_at timestamptz NOT NULL,
    key_id varchar(16) NOT NULL,
    signature varchar(88) NOT NULL,
    CONSTRAINT pk_audit_checkpoints PRIMARY KEY (account_id),
    CONSTRAINT fk_audit_checkpoints_account_id FOREIGN KEY (account_id)
        REFERENCES accounts (id) ON DELETE CASCADE
);
COMMENT ON TABLE audit_checkpoints IS
    'the last record that retention cut off each audit, signed by a key outside the database';
"""
_KEYS = """
CREATE TABLE idempotency_keys (
    account_id varchar(36) NOT NULL,
    principal_id varchar(36) NOT NULL,
    key varchar(200) NOT NULL,
    task_id varchar(36) NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT pk_idempotency_keys PRIMARY KEY (account_id, principal_id, key),
    CONSTRAINT fk_idempotency_keys_account_id FOREIGN KEY (account_id)
        REFERENCES accounts (id) ON DELETE CASCADE
);
CREATE INDEX ix_idempotency_keys_created_at ON idempotency_keys (created_at);
COMMENT ON TABLE idempotency_keys IS 'which task a key of a caller was used for';
INSERT INTO idempotency_keys
    SELECT account_id, principal_id, idempotency_key, id, created_at FROM tasks
    WHERE principal_id IS NOT NULL AND idempotency_key IS NOT NULL;
"""

_BOUND = """
CREATE FUNCTION retention_bound(parent text, month date) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT CASE parent
        WHEN 'tasks' THEN regexp_replace(
            lpad(to_hex(extract(epoch FROM month)::bigint * 1000), 12, '0'), '^(.{8})', '\\1-')
        ELSE to_char(month, 'YYYY-MM-DD') || ' 00:00:00+00'
    END
$$
"""
_KEY = """
CREATE FUNCTION retention_key(parent text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT CASE parent WHEN 'tasks' THEN 'id' WHEN 'drifts' THEN 'began_at' ELSE 'time' END
$$
"""
_REMOVABLE = """
CREATE FUNCTION retention_removable(parent text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
BEGIN
    CASE parent
        WHEN 'facts' THEN RETURN 'true';
        WHEN 'drifts' THEN RETURN 'r.ended_at IS NOT NULL';
        WHEN 'tasks' THEN RETURN 'r.finished_at IS NOT NULL';
        WHEN 'audit' THEN RETURN 'EXISTS (SELECT FROM audit_checkpoints c'
            ' WHERE c.account_id = r.account_id AND r.sequence <= c.sequence)';
        ELSE RAISE EXCEPTION 'no table that retention is for: %', parent;
    END CASE;
END
$$;
"""
_ADD = """
CREATE FUNCTION retention_add(parent text, month date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '3s' AS $$
DECLARE
    made text := parent || to_char(month, '_YYYY_MM');
    other text := parent || '_other';
    key text := retention_key(parent);
    lower_bound text := retention_bound(parent, date_trunc('month', month)::date);
    upper_bound text :=
        retention_bound(parent, (date_trunc('month', month) + interval '1 month')::date);
BEGIN
    PERFORM retention_removable(parent);
    IF to_regclass(made) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS)', made, parent);
    EXECUTE format('LOCK TABLE %I IN SHARE ROW EXCLUSIVE MODE', other);
    EXECUTE format('INSERT INTO %I SELECT * FROM %I WHERE %I >= %L AND %I < %L',
        made, other, key, lower_bound, key, upper_bound);
    IF FOUND THEN
        EXECUTE format('ALTER TABLE %I DISABLE TRIGGER USER', other);
        EXECUTE format('DELETE FROM %I WHERE %I >= %L AND %I < %L',
            other, key, lower_bound, key, upper_bound);
        EXECUTE format('ALTER TABLE %I ENABLE TRIGGER USER', other);
    END IF;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
        parent, made, lower_bound, upper_bound);
    IF parent = 'audit' THEN
        EXECUTE format('CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %I'
            ' FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()', made);
    END IF;
    RETURN true;
END
$$;
"""
_DROP = """
CREATE FUNCTION retention_drop(parent text, month date) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '3s' AS $$
DECLARE
    dropped text := parent || to_char(month, '_YYYY_MM');
    removable text := retention_removable(parent);
    rows_before bigint;
    rows_kept bigint;
BEGIN
    IF parent = 'audit'
        AND date_trunc('month', month) + interval '1 month' > now() - interval '90 days' THEN
        RAISE EXCEPTION 'audit records of the last 90 days stay: % refused', dropped;
    END IF;
    IF to_regclass(dropped) IS NULL THEN
        RETURN 0;
    END IF;
    EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent, dropped);
    EXECUTE format('SELECT count(*) FROM %I', dropped) INTO rows_before;
    EXECUTE format('INSERT INTO %I SELECT r.* FROM %I r WHERE NOT (%s)',
        parent, dropped, removable);
    GET DIAGNOSTICS rows_kept = ROW_COUNT;
    EXECUTE format('DROP TABLE %I', dropped);
    RETURN rows_before - rows_kept;
END
$$;
"""
_CLEAR = """
CREATE FUNCTION retention_clear(parent text, before timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '3s' AS $$
DECLARE
    other text := parent || '_other';
    moment text := CASE parent
        WHEN 'tasks' THEN 'created_at' WHEN 'drifts' THEN 'began_at' ELSE 'time' END;
    condition text := format('r.%I < %L AND (%s)', moment,
        CASE parent WHEN 'audit' THEN least(before, now() - interval '90 days') ELSE before END,
        retention_removable(parent));
    old boolean;
    removed bigint;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %I r WHERE %s)', other, condition) INTO old;
    IF NOT old THEN
        RETURN 0;
    END IF;
    EXECUTE format('ALTER TABLE %I DISABLE TRIGGER USER', other);
    EXECUTE format('DELETE FROM %I r WHERE %s', other, condition);
    GET DIAGNOSTICS removed = ROW_COUNT;
    EXECUTE format('ALTER TABLE %I ENABLE TRIGGER USER', other);
    RETURN removed;
END
$$;
"""
_OPEN_TO_ALL = (
    "retention_add(text, date)",
    "retention_drop(text, date)",
    "retention_clear(text, timestamptz)",
)
_MONTHS = """
DO $$
DECLARE
    first_month timestamptz;
    made date;
BEGIN
    SELECT coalesce(min({moment}), now()) INTO first_month FROM {table}_before;
    first_month := greatest(first_month, now() - interval '10 years');
    FOR made IN SELECT generate_series(
        date_trunc('month', first_month AT TIME ZONE 'UTC'),
        date_trunc('month', now() AT TIME ZONE 'UTC') + interval '3 months', interval '1 month')
    LOOP
        PERFORM retention_add('{table}', made);
    END LOOP;
END
$$;
"""
_GRANTS = """
DO $$
DECLARE given record;
BEGIN
    FOR given IN SELECT grantee, privilege_type FROM information_schema.role_table_grants
        WHERE table_schema = current_schema() AND table_name = '{table}_before'
          AND grantee <> current_user AND grantee <> 'PUBLIC'
    LOOP
        EXECUTE format('GRANT %s ON {table} TO %I', given.privilege_type, given.grantee);
        IF '{table}' = 'audit' THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION {functions} TO %I', given.grantee);
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE'
                ' ON audit_checkpoints, idempotency_keys TO %I', given.grantee);
        END IF;
    END LOOP;
END
$$;
"""
_CASCADE = "ADD CONSTRAINT {name} FOREIGN KEY ({column}) REFERENCES {parent} (id) ON DELETE CASCADE"
_CONSTRAINTS = {
    "facts": (
        "ADD CONSTRAINT pk_facts PRIMARY KEY (id, time)",
        "ADD CONSTRAINT uq_facts_agent_id_event_id_time UNIQUE (agent_id, event_id, time)",
        _CASCADE.format(name="fk_facts_agent_id", column="agent_id", parent="agents"),
    ),
    "drifts": (
        "ADD CONSTRAINT pk_drifts PRIMARY KEY (id, began_at)",
        _CASCADE.format(name="fk_drifts_agent_id", column="agent_id", parent="agents"),
    ),
    "tasks": (
        "ADD CONSTRAINT pk_tasks PRIMARY KEY (id)",
        _CASCADE.format(name="fk_tasks_account_id", column="account_id", parent="accounts"),
        _CASCADE.format(name="fk_tasks_agent_id", column="agent_id", parent="agents"),
    ),
    "audit": (
        "ADD CONSTRAINT pk_audit PRIMARY KEY (account_id, sequence, time)",
        "ADD CONSTRAINT uq_audit_id_time UNIQUE (id, time)",
        _CASCADE.format(name="fk_audit_account_id", column="account_id", parent="accounts"),
    ),
}
_INDEXES = {
    "facts": (
        ("ix_facts_agent_id", "agent_id"),
        ("ix_facts_time", "time"),
        ("ix_facts_subject_time", "agent_id, subject, time"),
        ("ix_facts_correlation", "correlation"),
    ),
    "drifts": (("ix_drifts_agent_id", "agent_id"), ("ix_drifts_began", "agent_id, began_at")),
    "tasks": (
        ("ix_tasks_account_id", "account_id"),
        ("ix_tasks_agent_id", "agent_id"),
        ("ix_tasks_open", "agent_id, phase"),
        ("ix_tasks_unfinished", "phase) WHERE (finished_at IS NULL"),
    ),
    "audit": (("ix_audit_account_time", "account_id, time"),),
}
_COPY = "INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT * FROM {table}_before"
_TRIGGER = """
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()
"""
_MOMENTS = {"facts": "time", "drifts": "began_at", "tasks": "created_at", "audit": "time"}


def upgrade() -> None:
    for script in (_CHECKPOINTS, _KEYS):
        for statement in script.split(";\n"):
            _run(statement)
    for function in (_BOUND, _KEY, _REMOVABLE, _ADD, _DROP, _CLEAR):
        _run(function)
    for signature in _OPEN_TO_ALL:
        _run(f"REVOKE EXECUTE ON FUNCTION {signature} FROM PUBLIC")
    for table, key in _PARENTS.items():
        _partition(table, key)


def _partition(table: str, key: str) -> None:
    """Take the old table's place; constraints and indexes follow when its names are free."""
    _run(f"ALTER TABLE {table} RENAME TO {table}_before")
    _run(
        f"CREATE TABLE {table} (LIKE {table}_before INCLUDING DEFAULTS INCLUDING IDENTITY)"
        f" PARTITION BY RANGE ({key})"
    )
    _run(f"CREATE TABLE {table}_other PARTITION OF {table} DEFAULT")
    _run(_MONTHS.format(table=table, moment=_MOMENTS[table]))
    _run(_COPY.format(table=table))
    if table == "facts":
        _run(
            "SELECT setval(pg_get_serial_sequence('facts', 'id'), max(id)) FROM facts"
            " HAVING max(id) IS NOT NULL"
        )
    _run(_GRANTS.format(table=table, functions=", ".join(_OPEN_TO_ALL)))
    comment = op.get_bind().scalar(
        sa.text(f"SELECT obj_description('{table}_before'::regclass, 'pg_class')")
    )
    _run(f"DROP TABLE {table}_before")
    for constraint in _CONSTRAINTS[table]:
        _run(f"ALTER TABLE {table} {constraint}")
    for name, columns in _INDEXES[table]:
        _run(f"CREATE INDEX {name} ON {table} ({columns})")
    if comment:
        op.create_table_comment(table, comment)
    if table == "audit":
        for name in ("audit", "audit_other"):
            _run(_TRIGGER.format(table=name))


def _run(statement: str) -> None:
    """As it stands: colons are no parameters."""
    if statement.strip():
        op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    """Rows that retention removed do not come back, so neither does the shape before."""
    raise NotImplementedError("restore a copy of the database from before the upgrade instead")
