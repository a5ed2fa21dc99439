"""Sockets are those of one client, which are waited for at its end."""

from __future__ import annotations

import asyncio
import socket
from weakref import WeakSet

import aiohttp

_CLOSED_WITHIN = 5.0
_TURN = 0.005


class Sockets:
    """The sockets of one client, waited for at its end.

    A connection that is cancelled while it opens is closed some turns of the event loop later, and
    nothing of aiohttp or asyncio waits for that: a loop that ends at once would leave it open.
    """

    def __init__(self) -> None:
        self._created: WeakSet[socket.socket] = WeakSet()

    def create(self, address: aiohttp.AddrInfoType) -> socket.socket:
        created = socket.socket(*address[:3])
        self._created.add(created)
        return created

    async def __aenter__(self) -> None:
        """Nothing is open yet."""

    async def __aexit__(self, *_: object) -> None:
        turns = int(_CLOSED_WITHIN / _TURN)
        for _turn in range(turns):
            if all(it.fileno() < 0 for it in self._created):
                return
            await asyncio.sleep(_TURN)
