"""What an agent told of a fact's time, and how many objects of an epoch vanish just now."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_FACTS = "time: by the service's clock; agent_time: as told, where the clocks were apart"
_BEFORE = "state: active, quarantined, retired; at most one is active per agent"
_AFTER = f"{_BEFORE}; removals: kind -> since when, and of how many, objects vanish just now"


def upgrade() -> None:
    op.add_column("facts", sa.Column("agent_time", sa.DateTime(timezone=True)))
    op.create_table_comment("facts", _FACTS)
    json = postgresql.JSONB(astext_type=sa.Text())
    empty = sa.text("'{}'::jsonb")
    op.add_column("epochs", sa.Column("removals", json, server_default=empty, nullable=False))
    op.create_table_comment("epochs", _AFTER, existing_comment=_BEFORE)


def downgrade() -> None:
    op.create_table_comment("epochs", _BEFORE, existing_comment=_AFTER)
    op.drop_column("epochs", "removals")
    op.drop_table_comment("facts")
    op.drop_column("facts", "agent_time")
