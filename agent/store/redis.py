"""Artifacts in Redis, so that another agent, or this one on a new disk, need not render again.

A cache behind a cache: when Redis is away that is said once, and said again when it is back; nobody
waits for it longer than a moment.
"""

from __future__ import annotations

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from bus.identity import Digest

_log = structlog.get_logger(__name__)

_LIFETIME = 7 * 24 * 3600
_PREFIX = "gitops:artifact:"
_TIMEOUT = 2.0


class RedisArtifacts:
    """Implements agent.store.artifacts.Shared; `aclose` it."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._away = False

    @property
    def away(self) -> bool:
        """The last call was not answered."""
        return self._away

    @classmethod
    def at(cls, url: str, password: str = "") -> RedisArtifacts:
        """`password` is for a URL that has none."""
        client = Redis.from_url(
            url, socket_timeout=_TIMEOUT, socket_connect_timeout=_TIMEOUT, password=password or None
        )
        return cls(client)

    async def get(self, digest: Digest) -> bytes | None:
        try:
            content = await self._client.get(_PREFIX + digest)
        except (RedisError, OSError) as error:
            self._note_away(error)
            return None
        self._note_back()
        return content if isinstance(content, bytes) else None

    async def put(self, digest: Digest, content: bytes) -> None:
        try:
            await self._client.set(_PREFIX + digest, content, ex=_LIFETIME)
        except (RedisError, OSError) as error:
            self._note_away(error)
        else:
            self._note_back()

    async def aclose(self) -> None:
        await self._client.aclose()

    def _note_away(self, error: Exception) -> None:
        if not self._away:
            _log.warning("redis is away, going on without", cause=type(error).__name__)
        self._away = True

    def _note_back(self) -> None:
        if self._away:
            _log.info("redis is back")
        self._away = False
