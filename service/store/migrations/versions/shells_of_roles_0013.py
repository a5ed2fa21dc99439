"""The administrator's role gets the permission to open shells in containers; no other role does."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_PERMISSION = "gitops_application_exec"


def upgrade() -> None:
    op.execute(_change("array_append"))


def downgrade() -> None:
    op.execute(_change("array_remove"))


def _change(function: str) -> sa.TextClause:
    return sa.text(
        f"UPDATE roles SET permissions = {function}(permissions, CAST(:name AS VARCHAR(64)))"  # noqa: S608  two fixed names
        " WHERE built_in AND name = 'administrator'"
    ).bindparams(name=_PERMISSION)
