"""Alembic's entry: connect with the driver we have, take the lock, run the revisions."""

from __future__ import annotations

import asyncio
import re

from alembic import context
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from service.store.tables import metadata

_LOCK = 0x67740000
PARTITION = re.compile(r"^(facts|drifts|tasks|audit)_(\d{4}_\d{2}|other)$")


def _run(connection: Connection) -> None:
    connection.execute(text(f"SELECT pg_advisory_lock({_LOCK})"))
    connection.commit()
    context.configure(
        connection=connection,
        target_metadata=metadata,
        compare_server_default=True,
        include_name=_is_compared,
    )
    with context.begin_transaction():
        context.run_migrations()
    connection.execute(text(f"SELECT pg_advisory_unlock({_LOCK})"))


def _is_compared(name: str | None, kind: str, _parents: object) -> bool:
    """Partitions come and go with the months; what they look like is their table's."""
    return kind != "table" or PARTITION.search(name or "") is None


async def _online() -> None:
    url = context.config.get_main_option("sqlalchemy.url") or ""
    engine = create_async_engine(url, poolclass=NullPool, connect_args={"timeout": 30})
    try:
        async with engine.connect() as connection:
            await connection.run_sync(_run)
    finally:
        await engine.dispose()


asyncio.run(_online())
