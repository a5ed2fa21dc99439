"""RedisArtifacts shares artifacts, so that another agent or a new disk need not render again.

It is a cache behind a cache: a lost Redis is logged once, and once more when it is back; a call
waits for it two seconds at most.
"""

from __future__ import annotations

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from agent.subscribers import Subscribers
from bus.identity import Digest

_log = structlog.get_logger(__name__)

_LIFETIME = 7 * 24 * 3600
_PREFIX = "gitops:artifact:"
_TIMEOUT = 2.0


class RedisArtifacts:
    """Implements agent.store.artifact_store.Shared; `aclose` it."""

    def __init__(self, client: Redis) -> None:
        self.changes = Subscribers[[]]()
        """Called when Redis is away, and when it is back."""
        self._client = client
        self._away = False

    @property
    def away(self) -> bool:
        """Whether Redis did not answer the last call."""
        return self._away

    @classmethod
    def at(cls, url: str, password: str = "") -> RedisArtifacts:
        """Open the client; `password` is for a URL without one."""
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
        if self._away:
            return
        _log.warning("redis is away, going on without", cause=type(error).__name__)
        self._away = True
        self.changes.notify()

    def _note_back(self) -> None:
        if not self._away:
            return
        _log.info("redis is back")
        self._away = False
        self.changes.notify()
