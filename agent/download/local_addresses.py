"""Addresses of this machine, of its link and of a cloud's metadata are no places for a download.

A server of charts chooses where an archive or a redirect leads. At these addresses the agent would
be answered by its own pod, or by the service that gives away the node's identity. A repository that
is itself at such an address may lead there.
"""

from __future__ import annotations

import socket
from urllib.parse import urlsplit
from urllib.request import getproxies

from aiohttp import DefaultResolver
from aiohttp.abc import AbstractResolver, ResolveResult

from bus.local_address import is_local


class RemoteResolver(AbstractResolver):
    """Resolves names but refuses those that lead to a local address; `known` may lead anywhere."""

    def __init__(self, known: frozenset[str]) -> None:
        self._known = known
        self._names = DefaultResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._names.resolve(host, port, family)
        if host.lower() in self._known:
            return found
        remote = [one for one in found if not is_local(one["host"])]
        if not remote:
            raise OSError(f"the name {host[:200]} leads to an address of this machine or its link")
        return remote

    async def close(self) -> None:
        await self._names.close()


def proxy_hosts(proxy: str) -> frozenset[str]:
    """Name the hosts of a Secret's proxy and of those of the environment."""
    return frozenset(filter(None, map(_host_of, (proxy, *getproxies().values()))))


def _host_of(url: str) -> str:
    """Read the host; empty where there is none, which whoever uses the URL will say."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
