"""Keys stand outside the database: records are signed, columns encrypted, session keys are gone.

What the table of keys held signed sessions of agents for a quarter of an hour; it is thrown away,
and agents open new ones by themselves. Columns in clear are encrypted at the next start of the
service, which has the key.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_KEYS_BEFORE = "signs sessions of agents; the service's own, it opens no cluster or repository"
_KEYS_AFTER = "ids of the keys that were used with this database; the keys stand outside of it"
_AUDIT_BEFORE = "append-only: a trigger refuses update and delete; sequence counts without a hole"
_AUDIT_AFTER = f"{_AUDIT_BEFORE}; signature: over the hash, by a key outside the database"
_HOOKS_BEFORE = "secret: made by the service to sign deliveries with; opens nothing"
_HOOKS_AFTER = "url and secret are encrypted with key `key_id`; in clear where that is empty"
_ANCHORS = "signed heads of the audit, as agents gave them back from their own clusters"


def upgrade() -> None:
    op.execute("DELETE FROM service_keys")
    op.drop_column("service_keys", "secret")
    op.drop_column("service_keys", "retired_at")
    op.create_table_comment("service_keys", _KEYS_AFTER, existing_comment=_KEYS_BEFORE)
    for table in ("audit", "webhooks"):
        op.add_column(table, sa.Column("key_id", sa.String(16), server_default="", nullable=False))
    op.add_column("audit", sa.Column("signature", sa.String(88), server_default="", nullable=False))
    op.create_table_comment("audit", _AUDIT_AFTER, existing_comment=_AUDIT_BEFORE)
    op.alter_column("webhooks", "secret", type_=sa.Text(), existing_type=sa.String(200))
    op.create_table_comment("webhooks", _HOOKS_AFTER, existing_comment=_HOOKS_BEFORE)
    op.create_table(
        "audit_anchors",
        sa.Column("agent_id", sa.String(36), nullable=False),
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("account_id", sa.String(36), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("key_id", sa.String(16), nullable=False),
        sa.Column("signature", sa.String(88), nullable=False),
        sa.Column(
            "received_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name="fk_audit_anchors_agent_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name="fk_audit_anchors_account_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("agent_id", "sequence", name="pk_audit_anchors"),
        comment=_ANCHORS,
    )
    op.create_index("ix_audit_anchors_account_id", "audit_anchors", ["account_id"])


def downgrade() -> None:
    """Encrypted columns stay encrypted: webhooks made since then have to be made again."""
    op.drop_table("audit_anchors")
    op.create_table_comment("webhooks", _HOOKS_BEFORE, existing_comment=_HOOKS_AFTER)
    op.execute("DELETE FROM webhooks WHERE key_id <> ''")
    op.alter_column("webhooks", "secret", type_=sa.String(200), existing_type=sa.Text())
    op.create_table_comment("audit", _AUDIT_BEFORE, existing_comment=_AUDIT_AFTER)
    op.drop_column("audit", "signature")
    for table in ("webhooks", "audit"):
        op.drop_column(table, "key_id")
    op.execute("DELETE FROM service_keys")
    op.create_table_comment("service_keys", _KEYS_BEFORE, existing_comment=_KEYS_AFTER)
    op.add_column("service_keys", sa.Column("retired_at", sa.DateTime(timezone=True)))
    op.add_column("service_keys", sa.Column("secret", sa.String(64), nullable=False))
