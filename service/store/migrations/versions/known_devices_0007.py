"""The browsers that somebody has logged in with before: their attempts are counted apart."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_BEFORE = "key: the name, or the address, that failed; until: refused before this moment"
_AFTER = "key: what attempts to log in are counted by; until: refused before this moment"


def upgrade() -> None:
    op.create_table(
        "known_devices",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("account_id", sa.String(36), nullable=False),
        sa.Column("principal_id", sa.String(36), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_known_devices_account_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["principal_id"],
            ["principals.id"],
            name=op.f("fk_known_devices_principal_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_known_devices")),
        comment="hash: of the cookie of a browser that has logged in before; it opens nothing",
    )
    for column in ("account_id", "principal_id"):
        op.create_index(op.f(f"ix_known_devices_{column}"), "known_devices", [column])
    op.create_table_comment("login_failures", _AFTER, existing_comment=_BEFORE)
    op.execute("DELETE FROM login_failures")  # counted by other keys from now on


def downgrade() -> None:
    op.create_table_comment("login_failures", _BEFORE, existing_comment=_AFTER)
    op.drop_table("known_devices")
