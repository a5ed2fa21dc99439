"""What runs of each application, why it is ill, why its sync failed, whether it needs a person.

Rows that stand already get what can be read from the newest reports; the rest comes with the next.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_JSON = postgresql.JSONB(astext_type=sa.Text(), none_as_null=True)
_COLUMNS: tuple[sa.Column[Any], ...] = (
    sa.Column("running_revision", sa.String(64), server_default="", nullable=False),
    sa.Column("running_since", sa.DateTime(timezone=True)),
    sa.Column("running_by", sa.String(200), server_default="", nullable=False),
    sa.Column("rolled_back", sa.Boolean(), server_default="false", nullable=False),
    sa.Column("cause", _JSON),
    sa.Column("sync_failure", _JSON),
    sa.Column("attention", sa.String(16), server_default="", nullable=False),
)
_RUNNING = """
UPDATE applications SET running_revision =
  left(coalesce(objects.body #>> '{status,history,-1,revision}', ''), 64)
FROM objects JOIN epochs
  ON epochs.agent_id = objects.agent_id AND epochs.epoch = objects.epoch
WHERE epochs.state = 'active' AND objects.kind = 'Application'
  AND objects.agent_id = applications.agent_id
  AND objects.subject = applications.namespace || '/' || applications.name
"""
_ATTENTION = """
UPDATE applications SET attention = CASE
  WHEN health = 'Degraded' THEN 'Degraded'
  WHEN conditions @> '[{"type": "InvalidSpecError"}]' THEN 'Unreadable'
  WHEN conditions @> '[{"type": "ComparisonError"}]' THEN 'Unreadable'
  WHEN phase IN ('Failed', 'Error') THEN 'SyncFailed'
  WHEN health = 'Missing' THEN 'Missing'
  WHEN sync = 'OutOfSync' AND NOT automated THEN 'OutOfSync'
  ELSE '' END
"""


def upgrade() -> None:
    for column in _COLUMNS:
        op.add_column("applications", column)
    op.execute(_RUNNING)
    op.execute(_ATTENTION)


def downgrade() -> None:
    for column in reversed(_COLUMNS):
        op.drop_column("applications", column.name)
