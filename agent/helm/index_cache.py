"""IndexCache keeps the index of one Helm repository on disk, and asks for it only where it changed.

All charts that are read with the same credential share the index. The parsed versions of a chart
are remembered until the index has other bytes.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from pathlib import Path

import msgspec
from yarl import URL

from agent.download.disk import use
from agent.download.downloader import Downloader, DownloadRequest
from agent.download.fetch_turns import FetchTurns
from agent.helm.index import ChartIndexError, ChartVersion, versions_of
from bus.identity import Digest

LARGEST_INDEX = 256 * 1024 * 1024
_CHARTS = 64
_NOT_MODIFIED = 304


class _Stamp(msgspec.Struct, frozen=True):
    """By which a server tells whether the index has changed."""

    digest: Digest
    etag: str = ""
    last_modified: str = ""

    @property
    def conditions(self) -> dict[str, str]:
        found = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in found.items() if value}


class IndexCache:
    def __init__(self, folder: Path) -> None:
        self.turns = FetchTurns()
        self._file, self._stamp_file = folder / "index", folder / "index.json"
        self._folder = folder
        self._stamp: _Stamp | None = None
        self._versions: OrderedDict[str, tuple[ChartVersion, ...]] = OrderedDict()

    async def fetch(self, downloader: Downloader, url: URL, authorization: str) -> bool:
        """Ask for the index, and tell whether another one came; raises RepositoryError."""
        stamp = await asyncio.to_thread(self._load)
        partial = self._folder / f"index.partial-{os.getpid()}"
        request = DownloadRequest(
            url=url,
            into=partial,
            limit=LARGEST_INDEX,
            what="index.yaml",
            authorization=authorization,
            headers=stamp.conditions if stamp else {},
            expected=(200, _NOT_MODIFIED) if stamp else (200,),
        )
        try:
            answer = await downloader.get(request)
            if answer.status == _NOT_MODIFIED:
                return False
            fresh = _Stamp(
                digest=answer.digest,
                etag=answer.headers.get("etag", ""),
                last_modified=answer.headers.get("last-modified", ""),
            )
            await asyncio.to_thread(self._keep, partial, fresh)
            return True
        finally:
            partial.unlink(missing_ok=True)

    async def known(self) -> bool:
        """Whether there is an index to read, of an earlier process too."""
        return await asyncio.to_thread(self._load) is not None

    async def versions(self, chart: str) -> tuple[ChartVersion, ...]:
        """List the versions of a chart, none where the index does not name it; ChartIndexError."""
        if chart not in self._versions:
            if not await self.known():
                raise ChartIndexError("its index was not read yet")
            found = await asyncio.to_thread(versions_of, self._file, chart)
            self._versions[chart] = found
            if len(self._versions) > _CHARTS:
                self._versions.popitem(last=False)
        return self._versions[chart]

    def _load(self) -> _Stamp | None:
        self._folder.mkdir(parents=True, exist_ok=True)
        if not self._file.is_file():
            self._stamp = None  # it gave way to others
            return None
        use(self._file)
        if self._stamp is None:
            try:
                self._stamp = msgspec.json.decode(self._stamp_file.read_bytes(), type=_Stamp)
            except (OSError, msgspec.DecodeError):
                return None
        return self._stamp

    def _keep(self, partial: Path, fresh: _Stamp) -> None:
        before = self._stamp
        self._stamp = None
        self._stamp_file.unlink(missing_ok=True)
        partial.rename(self._file)
        self._stamp_file.write_bytes(msgspec.json.encode(fresh))
        self._stamp = fresh
        if before is None or before.digest != fresh.digest:
            self._versions.clear()
