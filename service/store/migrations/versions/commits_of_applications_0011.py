"""The commits that an agent read in its mirror: of what runs, and of what is wanted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    empty = sa.text("'{}'::jsonb")
    commits = postgresql.JSONB(astext_type=sa.Text())
    op.add_column(
        "applications", sa.Column("commits", commits, server_default=empty, nullable=False)
    )


def downgrade() -> None:
    op.drop_column("applications", "commits")
