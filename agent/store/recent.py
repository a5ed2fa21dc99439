"""The last artifacts in memory, in front of any other Artifacts: a push reads its own five times.

Content never changes under its digest, so what is here is as good as what is on disk. It is bounded
by bytes; what is large is not kept, since reading it is not what makes its application slow.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from bus.identity import Digest
from handlers.ports import Artifacts

_TOTAL = 16 * 1024 * 1024
_LARGEST = 1024 * 1024


@dataclass(slots=True, kw_only=True)
class RecentArtifacts:
    """Implements handlers.ports.Artifacts."""

    behind: Artifacts
    max_total: int = _TOTAL
    max_one: int = _LARGEST
    _kept: OrderedDict[Digest, bytes] = field(default_factory=OrderedDict)
    _total: int = 0

    async def put(self, content: bytes) -> Digest:
        digest = await self.behind.put(content)
        self._keep(digest, content)
        return digest

    async def get(self, digest: Digest) -> bytes | None:
        content = self._kept.get(digest)
        if content is not None:
            self._kept.move_to_end(digest)
            return content
        content = await self.behind.get(digest)
        if content is not None:
            self._keep(digest, content)
        return content

    def _keep(self, digest: Digest, content: bytes) -> None:
        if digest in self._kept or len(content) > self.max_one:
            return
        self._kept[digest] = content
        self._total += len(content)
        while self._total > self.max_total:
            _, oldest = self._kept.popitem(last=False)
            self._total -= len(oldest)
