"""Sessions that people can see and that end when idle; a signal for each change of access.

Open streams hear the signal and look whether their login may go on: see service/http/stream_access.
It is sent by triggers, so that whoever makes the change is heard: the API, the command line, psql.
Answers of receivers that older deliveries kept are cut to their status.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_FUNCTION = """
CREATE FUNCTION access_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE changed jsonb := to_jsonb(CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END);
BEGIN
  PERFORM pg_notify('access', changed ->> TG_ARGV[0]);
  RETURN NULL;
END
$$
"""
_MOVED = (
    "WHEN (OLD.organisation_id IS DISTINCT FROM NEW.organisation_id"
    " OR OLD.project_id IS DISTINCT FROM NEW.project_id)"
)
_SIGNALS = (
    ("sessions", "DELETE OR UPDATE OF expires_at", "", "principal_id"),
    ("api_tokens", "DELETE OR UPDATE OF revoked_at, expires_at, permissions", "", "principal_id"),
    ("principals", "DELETE OR UPDATE OF disabled", "", "id"),
    ("bindings", "INSERT OR UPDATE OR DELETE", "", "principal_id"),
    ("roles", "UPDATE OF permissions", "", "account_id"),
    ("resource_groups", "UPDATE OF labels", "", "account_id"),
    ("projects", "UPDATE OF app_projects", "", "account_id"),
    ("agents", "UPDATE OF organisation_id, project_id", _MOVED, "account_id"),
)
"""Table, events, condition, and the column whose value the signal carries: who is concerned."""


def upgrade() -> None:
    id_ = sa.Column(
        "id", sa.String(36), server_default=sa.text("(gen_random_uuid())::text"), nullable=False
    )
    op.add_column("sessions", id_)
    op.create_unique_constraint("uq_sessions_id", "sessions", ["id"])
    seen = sa.Column(
        "seen_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
    )
    op.add_column("sessions", seen)
    op.add_column(
        "sessions", sa.Column("browser", sa.String(200), server_default="", nullable=False)
    )
    op.execute("UPDATE deliveries SET answer = substr(answer, 1, 3) WHERE answer ~ '^[0-9]{3} '")
    op.execute(_FUNCTION)
    for table, events, condition, column in _SIGNALS:
        op.execute(
            f"CREATE TRIGGER access_changed AFTER {events} ON {table}"
            f" FOR EACH ROW {condition} EXECUTE FUNCTION access_changed('{column}')"
        )


def downgrade() -> None:
    for table, *_ in _SIGNALS:
        op.execute(f"DROP TRIGGER access_changed ON {table}")
    op.execute("DROP FUNCTION access_changed()")
    for name in ("browser", "seen_at", "id"):
        op.drop_column("sessions", name)
