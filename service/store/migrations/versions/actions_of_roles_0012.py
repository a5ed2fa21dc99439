"""Patterns of resource actions in roles; built-in roles get what is done with live objects."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_NEW = ("gitops_application_action", "gitops_object_edit", "gitops_object_delete")
_COMMENT = "actions: patterns of resource actions, as action/apps/Deployment/restart"


def upgrade() -> None:
    patterns = postgresql.ARRAY(sa.String(length=430))
    op.add_column("roles", sa.Column("actions", patterns, server_default="{}", nullable=False))
    op.create_table_comment("roles", _COMMENT)
    for permission in _NEW:
        op.execute(_change("array_append", permission))


def downgrade() -> None:
    for permission in _NEW:
        op.execute(_change("array_remove", permission))
    op.drop_table_comment("roles", existing_comment=_COMMENT)
    op.drop_column("roles", "actions")


def _change(function: str, permission: str) -> sa.TextClause:
    return sa.text(
        f"UPDATE roles SET permissions = {function}(permissions, CAST(:name AS VARCHAR(64)))"  # noqa: S608  two fixed names
        " WHERE built_in AND name IN ('editor', 'administrator')"
    ).bindparams(name=permission)
