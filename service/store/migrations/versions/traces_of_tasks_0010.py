"""Where a task stands in a trace: the agent's context, and the request's span above it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_COLUMNS = {"traceparent": 55, "tracestate": 512, "request_span": 16}


def upgrade() -> None:
    for name, length in _COLUMNS.items():
        column = sa.Column(name, sa.String(length), server_default="", nullable=False)
        op.add_column("tasks", column)


def downgrade() -> None:
    for name in reversed(_COLUMNS):
        op.drop_column("tasks", name)
