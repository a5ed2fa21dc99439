"""Loopback has free ports for child servers, and probes for whether a server answers."""

import asyncio
import random
import socket
from collections import deque

import aiohttp

from agent.child_process import Fact

# Linux hands out 32768 and up to outgoing connections; a port from below is not taken between
# choosing and binding.
_FREE_PORTS = range(10_000, 32_000)


_recent: deque[int] = deque(maxlen=1000)
"""Ports whose server may not listen yet."""


class NoFreePortError(RuntimeError):
    """No loopback port is free."""


def free_port() -> int:
    """Find a loopback port on which no process listens now, another one at each of many calls."""
    chance = random.SystemRandom()  # two processes that seeded `random` alike would meet
    for port in chance.sample(_FREE_PORTS, 200):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _recent:
            _recent.append(port)
            return port
    raise NoFreePortError("no free loopback port found in 200 tries")


def answers_tcp(port: int, host: str = "127.0.0.1") -> Fact:
    """Probe whether the port accepts connections."""

    async def ready() -> bool:
        try:
            async with asyncio.timeout(1):
                _, writer = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError):
            return False
        writer.close()
        return True

    return ready


def answers_ok(url: str) -> Fact:
    """Probe whether `url` answers 200."""
    timeout = aiohttp.ClientTimeout(total=2)

    async def ready() -> bool:
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(url) as answer,
            ):
                return answer.status == 200
        except (aiohttp.ClientError, TimeoutError):
            return False

    return ready
