"""HttpLimits: what those who have not proven who they are may take of an HTTP server."""

from __future__ import annotations

import resource
from dataclasses import dataclass, replace

_MIB = 1 << 20
_FILES_OF_OTHERS = 256
"""Open files that the process needs for everything else: databases, mirrors, NATS, logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    connections: int = 2048
    connections_of_address: int = 256
    """Of one address, or one /64 of IPv6; requests of who has logged in do not count."""
    head_seconds: float = 10.0
    """From a connection, or the first byte of a request, to the end of its head."""
    body_seconds: float = 10.0
    """For a body; GitHub, too, gives up after ten."""
    request_seconds: float = 60.0
    """From the head to the answer, for who has not logged in."""
    idle_seconds: float = 75.0
    """Between two requests of a connection: more than the minute that most proxies keep one."""
    bodies: int = 64 * _MIB
    """Bytes of bodies that are being read, in all."""
    bodies_of_address: int = 32 * _MIB


def affordable(limits: HttpLimits, files: int) -> HttpLimits:
    """No more connections than a process that may open so many files has room for."""
    most = max(files - _FILES_OF_OTHERS, files // 2)
    return replace(limits, connections=min(limits.connections, most))


def open_files() -> int:
    """Number of files that this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1 << 20
