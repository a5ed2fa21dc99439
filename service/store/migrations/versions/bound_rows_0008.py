"""Rows that say which agent is trusted carry a MAC, made with a key outside the database.

Rows from before carry none. Who vouches for them is decided at the start of the service, which has
the key: see service/key_management/adoption.py.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_TOKENS_BEFORE = "used_by: the public key that it was given for"
_TOKENS_AFTER = f"{_TOKENS_BEFORE}; mac: binds the row, until it is used"
_KEYS_BEFORE = "public keys only; retired_at: not accepted from this moment"
_KEYS_AFTER = (
    f"{_KEYS_BEFORE}; mac: binds the row with key `key_id`, which stands outside the database"
)
_COMMENTS = {
    "enrolment_tokens": (_TOKENS_BEFORE, _TOKENS_AFTER),
    "agent_keys": (_KEYS_BEFORE, _KEYS_AFTER),
}


def upgrade() -> None:
    for table, (before, after) in _COMMENTS.items():
        op.add_column(table, sa.Column("key_id", sa.String(16), server_default="", nullable=False))
        op.add_column(table, sa.Column("mac", sa.String(44), server_default="", nullable=False))
        op.create_table_comment(table, after, existing_comment=before)


def downgrade() -> None:
    for table, (before, after) in _COMMENTS.items():
        op.create_table_comment(table, before, existing_comment=after)
        op.drop_column(table, "mac")
        op.drop_column(table, "key_id")
