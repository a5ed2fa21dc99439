"""Databases for tests: each test has one to itself, which holds the tables and no row.

Making a database costs PostgreSQL a file for each table and index: a quarter of a second of work
with ours. So a database whose tables are as they were is emptied and given to the next test.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from playground.postgres import postgres_server
from service.retention.policy import RecordClass, months_to_make
from service.store.migrate import migrate

MIGRATED = "migrated"
"""A template with all tables, as a first start makes them."""
_PREPARED = "prepared"
"""The same with the partitions of the coming months, which a service would make when it starts."""

_CUT_OFF = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
_EMPTY = """
DO $$
DECLARE
    one regclass;
BEGIN
    SET LOCAL session_replication_role = replica;  -- no foreign keys, and the audit may be cleared
    FOR one IN SELECT oid FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
            AND relname <> 'alembic_version'
    LOOP
        EXECUTE format('DELETE FROM %s', one);
    END LOOP;
    FOR one IN SELECT oid FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'S'
    LOOP
        EXECUTE format('ALTER SEQUENCE %s RESTART', one);
    END LOOP;
END $$
"""
_SHAPE = """
SELECT md5(string_agg(part, ',' ORDER BY part)) FROM (
    SELECT 'relation ' || oid || relname || relnatts || coalesce(relacl::text, '') AS part
        FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind <> 'S'
    UNION ALL SELECT 'function ' || oid || md5(prosrc) || coalesce(proacl::text, '')
        FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT 'trigger ' || oid || tgenabled::text FROM pg_trigger
    UNION ALL SELECT 'schema ' || nspname || coalesce(nspacl::text, '') FROM pg_namespace
        WHERE nspname NOT LIKE 'pg_%'
) AS parts
"""


@asynccontextmanager
async def database_server(folder: Path) -> AsyncIterator[str]:
    """The URL of a PostgreSQL that has the templates; its first database is nobody's."""
    async with postgres_server(folder) as server:
        url = await new_database(server.url, MIGRATED)
        await asyncio.to_thread(migrate, url)
        await _make_months(await new_database(server.url, _PREPARED, template=MIGRATED))
        yield server.url


async def new_database(server_url: str, name: str, *, template: str = "template1") -> str:
    """Its URL. PostgreSQL copies a template only while nobody is connected to it."""
    connection = await asyncpg.connect(server_url, timeout=180)
    try:
        await connection.execute(
            f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY'
        )
    finally:
        await connection.close()
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


async def drop_database(server_url: str, url: str) -> None:
    """Whoever is still connected is cut off: thousands of databases would fill the disk."""
    connection = await asyncpg.connect(server_url, timeout=180)
    try:
        await connection.execute(f'DROP DATABASE "{urlsplit(url).path[1:]}" WITH (FORCE)')
    finally:
        await connection.close()


@dataclass(frozen=True, slots=True)
class DatabasePool:
    """Databases of one process; the ones that no test uses are empty."""

    server_url: str
    _free: list[str] = field(default_factory=list)
    _shapes: dict[str, str] = field(default_factory=dict)
    """What each database looked like when it was new: `url -> shape`."""

    @asynccontextmanager
    async def database(self) -> AsyncIterator[str]:
        """An empty database, until the block ends."""
        url = self._free.pop() if self._free else await self._new()
        yield url
        if await _emptied(url, self._shapes[url]):
            self._free.append(url)
        else:
            await drop_database(self.server_url, url)

    async def _new(self) -> str:
        name = f"test_{uuid.uuid4().hex}"
        url = await new_database(self.server_url, name, template=_PREPARED)
        connection = await asyncpg.connect(url, timeout=180)
        try:
            self._shapes[url] = await connection.fetchval(_SHAPE)
        finally:
            await connection.close()
        return url


async def _make_months(url: str) -> None:
    connection = await asyncpg.connect(url, timeout=180)
    try:
        for month in months_to_make(dt.datetime.now(dt.UTC)):
            for records in RecordClass:
                await connection.execute("SELECT retention_add($1, $2)", records.value, month)
    finally:
        await connection.close()


async def _emptied(url: str, shape: str) -> bool:
    """Cut off whoever is connected and delete all rows; False where more than rows has changed."""
    connection = await asyncpg.connect(url, timeout=180)
    try:
        await connection.execute(_CUT_OFF)
        if await connection.fetchval(_SHAPE) != shape:
            return False
        await connection.execute(_EMPTY)
    finally:
        await connection.close()
    return True
