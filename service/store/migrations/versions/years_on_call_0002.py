"""What was told of an agent, what its guard holds, when it was rebuilt, whose token it was.

Rows that stand already are told anew by the next sweep: their status is empty.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_BEFORE = "state: created, enrolled, revoked; heard_at: the last sign of life"
_AFTER = f"{_BEFORE}; status: as people were told last; doubted: kind -> what the guard holds"


def upgrade() -> None:
    op.add_column("agents", sa.Column("status", sa.String(16), server_default="", nullable=False))
    doubted = postgresql.JSONB(astext_type=sa.Text())
    empty = sa.text("'{}'::jsonb")
    op.add_column("agents", sa.Column("doubted", doubted, server_default=empty, nullable=False))
    op.add_column("agents", sa.Column("rebuilt_at", sa.DateTime(timezone=True)))
    op.create_table_comment("agents", _AFTER, existing_comment=_BEFORE)
    used_by = sa.Column("used_by", sa.String(64), server_default="", nullable=False)
    op.add_column("enrolment_tokens", used_by)
    op.create_table_comment("enrolment_tokens", "used_by: the public key that it was given for")


def downgrade() -> None:
    op.drop_table_comment("enrolment_tokens")
    op.drop_column("enrolment_tokens", "used_by")
    op.create_table_comment("agents", _BEFORE, existing_comment=_AFTER)
    for name in ("rebuilt_at", "doubted", "status"):
        op.drop_column("agents", name)
