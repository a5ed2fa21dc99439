"""Databases for tests: each its own, copied from one that was migrated once."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from service.store.migrate import migrate


async def new_database(
    server_url: str, name: str, *, template: str = "template1", migrated: bool = False
) -> str:
    """Its URL. PostgreSQL copies a template only while nobody is connected to it."""
    connection = await asyncpg.connect(server_url, timeout=30)
    try:
        await connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    finally:
        await connection.close()
    url = urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    if migrated:
        await asyncio.to_thread(migrate, url)
    return url


async def drop_database(server_url: str, url: str) -> None:
    """Whoever is still connected is cut off: thousands of databases would fill the disk."""
    connection = await asyncpg.connect(server_url, timeout=30)
    try:
        await connection.execute(f'DROP DATABASE "{urlsplit(url).path[1:]}" WITH (FORCE)')
    finally:
        await connection.close()
