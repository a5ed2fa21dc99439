"""The shells that are open: whose replica is lost is found by its lease, and its end recorded."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "open_shells",
        sa.Column("task_id", sa.String(36), nullable=False),
        sa.Column("account_id", sa.String(36), nullable=False),
        sa.Column("agent_id", sa.String(36), nullable=False),
        sa.Column("actor", sa.String(200), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(400), nullable=False),
        sa.Column("project", sa.String(63), nullable=False),
        sa.Column("pod", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("output", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("input", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("begun_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kept_until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_open_shells_account_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("task_id", name=op.f("pk_open_shells")),
        comment="removed by whoever records the end; kept_until: by the database's clock",
    )
    op.create_index(op.f("ix_open_shells_account_id"), "open_shells", ["account_id"])


def downgrade() -> None:
    op.drop_table("open_shells")
