"""IndexCache keeps the index of one Helm repository on disk, and asks for it only where it changed.

All charts that are read with the same credential share the index. The parsed versions of a chart
are remembered until the index has other bytes. It is parsed in threads that do nothing else, and
one chart at a time, so that an index of a stranger delays no other repository for long.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from concurrent.futures import Executor
from pathlib import Path

import msgspec
from yarl import URL

from agent.download.disk import use
from agent.download.downloader import Downloader, DownloadRequest
from agent.download.fetch_turns import FetchTurns
from agent.helm.index import ChartIndexError, ChartVersion, versions_of
from bus.identity import Digest

LARGEST_INDEX = 64 * 1024 * 1024
_CHARTS = 64
_VERSIONS = 200_000
"""Of all charts that are remembered."""
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
    def __init__(self, folder: Path, readers: Executor) -> None:
        self.turns = FetchTurns()
        self._readers = readers
        self._reading = asyncio.Lock()
        self._file, self._stamp_file = folder / "index", folder / "index.json"
        self._folder = folder
        self._stamp: _Stamp | None = None
        self._versions: OrderedDict[tuple[_Stamp | None, str], tuple[ChartVersion, ...]] = (
            OrderedDict()
        )

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
        async with self._reading:
            if not await self.known():
                raise ChartIndexError("its index was not read yet")
            stamp = self._stamp
            found = self._versions.get((stamp, chart))
            if found is None:
                loop = asyncio.get_running_loop()
                found = await loop.run_in_executor(self._readers, versions_of, self._file, chart)
                if stamp is self._stamp:  # else another index came meanwhile
                    self._remember(stamp, chart, found)
            return found

    def _remember(self, stamp: _Stamp | None, chart: str, found: tuple[ChartVersion, ...]) -> None:
        self._versions[stamp, chart] = found
        count = sum(len(versions) for versions in self._versions.values())
        while len(self._versions) > _CHARTS or (count > _VERSIONS and len(self._versions) > 1):
            count -= len(self._versions.popitem(last=False)[1])

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
        self._stamp = None
        self._stamp_file.unlink(missing_ok=True)
        partial.rename(self._file)
        self._stamp_file.write_bytes(msgspec.json.encode(fresh))
        self._stamp = fresh
