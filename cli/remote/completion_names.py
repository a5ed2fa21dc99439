"""Names for completion: applications, agents and projects of the service.

Any failure (no login, a service that is away or slow) means no names.
"""

from __future__ import annotations

import asyncio
from typing import Any

from cli.remote import contexts
from cli.remote.errors import ServiceError
from cli.remote.service_client import open_service_client

_PATIENCE_SECONDS = 2.0
_MOST = 500


def contexts_of(prefix: str) -> list[tuple[str, str]]:
    """List the logins of this machine, with the address of each service."""
    try:
        known = contexts.read().known
    except ServiceError:
        return []
    return [(name, it.url) for name, it in sorted(known.items()) if name.startswith(prefix)]


def names_of(noun: str, prefix: str, context: str) -> list[tuple[str, str]]:
    """List the names of a `noun` of the REST API."""
    try:
        found = asyncio.run(_read(noun, prefix, context))
    except (ServiceError, TimeoutError):
        return []
    return sorted(it for it in found if it[0].startswith(prefix))


async def _read(noun: str, prefix: str, context: str) -> list[tuple[str, str]]:
    query = {"search": prefix.rpartition("/")[2]}
    async with (
        asyncio.timeout(_PATIENCE_SECONDS),
        open_service_client(contexts.read().chosen(context)) as client,
    ):
        items = [it async for it in client.pages(f"/{noun}", query, _MOST)]
    if noun == "agents":
        return [(it["name"], it["status"]) for it in items]
    return _references(items, in_full="/" in prefix)


def _references(items: list[dict[str, Any]], *, in_full: bool) -> list[tuple[str, str]]:
    """Make the references of a name: NAME, or with a / typed, NAMESPACE/NAME and longer."""
    found: dict[str, str] = {}
    for it in items:
        state = " ".join(filter(None, (it.get("health"), it.get("sync"))))
        parts = (it["agent"]["name"], it["namespace"], it["name"])
        for ways in (parts, parts[1:]) if in_full else (parts[2:],):
            word = "/".join(ways)
            found[word] = "several have this name" if word in found else state
    return list(found.items())
