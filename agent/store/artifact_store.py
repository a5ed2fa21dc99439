"""ArtifactStore keeps bytes by digest, on disk and then in Redis; ArtifactCache in memory.

Both are the port `Artifacts`. The digest is the name, so no file is written twice or changed, and
the cache cannot be outdated. Content that is read is checked against its name: a damaged file
counts as missing. The disk keeps the most recently used artifacts, up to a limit; all can be made
again from Git, so losing them costs time only. Content is encrypted on its way out and checked
against its digest on its way in.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from agent.store.cipher import Cipher
from agent.store.files import FileWriter, PromptFiles, sweep_parts
from bus.identity import Digest, digest_of
from handlers.ports import Artifacts

MAX_TOTAL = 512 * 1024 * 1024
_CACHE_BYTES = 16 * 1024 * 1024
_LARGEST_CACHED = 1024 * 1024


class SharedArtifacts(Protocol):
    """A cache that several agents share; it answers None and does nothing when it is away."""

    async def get(self, digest: Digest) -> bytes | None: ...
    async def put(self, digest: Digest, content: bytes) -> None: ...


class ArtifactStore:
    """Implements handlers.ports.Artifacts; make it with `open`."""

    def __init__(
        self,
        folder: Path,
        cipher: Cipher,
        max_total: int,
        shared: SharedArtifacts | None,
        files: FileWriter,
    ) -> None:
        self._folder = folder
        self._cipher = cipher
        self._files = files
        self._max_total = max_total
        self._shared = shared
        self._sizes: OrderedDict[Digest, int] = OrderedDict()
        """Least recently used first."""
        self._total = 0

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        cipher: Cipher,
        max_total: int = MAX_TOTAL,
        shared: SharedArtifacts | None = None,
        files: FileWriter | None = None,
    ) -> Self:
        """Open the store. Blocking: looks at every file in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        sweep_parts(folder)
        store = cls(folder, cipher, max_total, shared, files or PromptFiles())
        for path in sorted(folder.glob("??/*"), key=lambda path: path.stat().st_mtime):
            store._note(Digest(f"sha256:{path.name}"), path.stat().st_size)
        return store

    async def put(self, content: bytes) -> Digest:
        digest = digest_of(content)
        if digest in self._sizes:
            self._sizes.move_to_end(digest)
            return digest
        kept = self._cipher.encrypt(digest, content)
        await self._keep(digest, kept)
        if self._shared is not None:
            await self._shared.put(digest, kept)
        return digest

    async def get(self, digest: Digest) -> bytes | None:
        content = await self._from_disk(digest)
        if content is not None or self._shared is None:
            return content
        kept = await self._shared.get(digest)
        content = self._opened(digest, kept)
        if kept is not None and content is not None:
            await self._keep(digest, kept)
        return content

    async def _from_disk(self, digest: Digest) -> bytes | None:
        if digest not in self._sizes:
            return None
        content = self._opened(digest, await asyncio.to_thread(_read, self._path(digest)))
        if content is None:
            await asyncio.to_thread(self._drop, digest)
            return None
        if digest in self._sizes:
            self._sizes.move_to_end(digest)
        return content

    def _opened(self, digest: Digest, kept: bytes | None) -> bytes | None:
        content = None if kept is None else self._cipher.decrypt(digest, kept)
        return None if content is None or digest_of(content) != digest else content

    async def _keep(self, digest: Digest, kept: bytes) -> None:
        await self._files.write(self._path(digest), kept)
        self._note(digest, len(kept))
        while self._total > self._max_total and len(self._sizes) > 1:
            self._drop(next(iter(self._sizes)))

    def _note(self, digest: Digest, size: int) -> None:
        self._total += size - self._sizes.pop(digest, 0)
        self._sizes[digest] = size

    def _drop(self, digest: Digest) -> None:
        self._total -= self._sizes.pop(digest, 0)
        self._path(digest).unlink(missing_ok=True)

    def _path(self, digest: Digest) -> Path:
        """256 folders, by the first two digits."""
        name = digest.removeprefix("sha256:")
        return self._folder / name[:2] / name


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


@dataclass(slots=True, kw_only=True)
class ArtifactCache:
    """Keeps the last artifacts in memory, because each push reads its own five times.

    Content never changes under its digest, so the cache cannot be outdated. It is bounded by
    bytes; large artifacts are not kept, since reading them is not what makes their application
    slow.

    Implements handlers.ports.Artifacts.
    """

    behind: Artifacts
    max_total: int = _CACHE_BYTES
    max_one: int = _LARGEST_CACHED
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
