"""PostgreSQL: one engine per process, short transactions, and errors that tell "away" from "wrong".

Use `engine.begin()` for a transaction and `engine.connect()` to read. Statements end after
`STATEMENT_SECONDS` on the server, so that a lost client holds no lock for long.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from service.keys.key_file import KeyFile

CONNECT_SECONDS = 10.0
STATEMENT_SECONDS = 30.0
KEY_FILE = "key_file"
"""The engine's option that holds the keys that sign the audit and bind rows."""


@asynccontextmanager
async def open_engine(
    url: str, connections: int = 16, *, keys: KeyFile | None = None
) -> AsyncIterator[AsyncEngine]:
    """Open the engine of a `postgresql://` URL; the pool is closed at the end.

    `keys` sign what is recorded in the audit over this engine; whoever writes the audit gives them.
    """
    engine = create_async_engine(
        driver_url(url),
        pool_size=connections,
        max_overflow=0,
        pool_timeout=CONNECT_SECONDS,
        pool_pre_ping=True,
        execution_options={KEY_FILE: keys},
        json_serializer=_to_json,
        json_deserializer=msgspec.json.decode,
        connect_args={
            "timeout": CONNECT_SECONDS,
            "command_timeout": STATEMENT_SECONDS,
            "server_settings": {
                "application_name": "gitops-service",
                "idle_in_transaction_session_timeout": "60000",
            },
        },
    )
    try:
        yield engine
    finally:
        await engine.dispose()


def keys_of(connection: AsyncConnection) -> KeyFile | None:
    """Read the keys of the connection's engine; None in tools that vouch for nothing."""
    opened = connection.sync_connection
    found: KeyFile | None = opened.get_execution_options().get(KEY_FILE) if opened else None
    return found


def driver_url(url: str) -> str:
    """SQLAlchemy's name of the driver in front; `postgres://` is an old spelling."""
    _, _, rest = url.partition("://")
    return f"postgresql+asyncpg://{rest}"


def plain_url(url: str) -> str:
    """Convert the URL as the driver itself wants it."""
    _, _, rest = url.partition("://")
    return f"postgresql://{rest}"


def _to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
