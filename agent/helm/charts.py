"""HelmCharts reads charts of Helm repositories over HTTP: the port SourceReader.

A chart's revisions are the versions in the index of its repository. The archive of one is verified
against the digest that the index names, unpacked within limits, and kept; its single folder is the
root of the files. Charts are kept by repository, credential and chart, as mirrors are.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
from yarl import URL

from agent.download.archive import ArchiveError
from agent.download.archive_store import ArchiveStore
from agent.download.archived_source import ArchivedSource
from agent.download.chart_files import chart_files
from agent.download.chosen_version import absent, check_target, chosen_version
from agent.download.downloader import Downloader, DownloadRequest, open_downloader
from agent.download.failures import DownloadServer
from agent.download.services import DownloadServices
from agent.helm.archive_address import ArchiveAddress, login_not_sent
from agent.helm.index import ChartIndexError, ChartVersion
from agent.helm.index_cache import IndexCache
from agent.helm.provenance import ChartArchive, ProvenanceChecks
from bus.identity import Revision
from bus.status import Reason
from handlers.application.artifact_signers import Signers, gnupg_keys_of
from handlers.ports import CommitTree, RepositoryAccess, RepositoryError

LARGEST_ARCHIVE = 100 * 1024 * 1024
_READERS = 2
"""Threads that parse indexes, so that those of strangers take none of all other work."""


def _index_readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_READERS, thread_name_prefix="helm-index")


class _Index(NamedTuple):
    """An index as one login reads it."""

    folder: Path
    cache: IndexCache


class _Chart(NamedTuple):
    """A chart as one login reads it."""

    folder: Path
    store: ArchiveStore
    lock: asyncio.Lock


@dataclass(slots=True, kw_only=True)
class HelmCharts(ArchivedSource):
    services: DownloadServices
    provenance: ProvenanceChecks | None = None
    _indexes: dict[RepositoryAccess, _Index] = field(default_factory=dict)
    _charts: dict[RepositoryAccess, _Chart] = field(default_factory=dict)
    _readers: ThreadPoolExecutor = field(default_factory=_index_readers)
    _outdated_at: float = -float("inf")

    def outdate(self) -> None:
        """Fetch each index before its next answer: another replica may have seen a newer one."""
        self._outdated_at = time.monotonic()

    async def fetch(self, repository: RepositoryAccess) -> None:
        server = self.services.server(repository)
        with self.services.recorded(repository, server):
            await self._index(repository, server).turns.run(lambda: self._fetch(repository, server))

    def looked_at(self, repository: RepositoryAccess) -> datetime | None:
        server = self.services.server(repository)
        return self._index(repository, server).turns.looked_at

    async def resolve(self, repository: RepositoryAccess, target_revision: str) -> Revision:
        server = self.services.server(repository)
        if not target_revision:
            cause = "spec.source.targetRevision is empty"
            raise server.error(
                Reason.REVISION_NOT_FOUND, cause, "Name a version or a range of them"
            )
        check_target(server, target_revision)
        index = self._index(repository, server)
        if not (await index.known() and index.turns.fetched_since(self._outdated_at)):
            await self.fetch(repository)
        known = await self._versions(repository, server)
        names = [one.version for one in known]
        found = await chosen_version(
            server, self.services.versions, target_revision, names, project=repository.project
        )
        await asyncio.to_thread(self._chart(repository, server).store.use, found)
        return Revision(found)

    async def tree(self, repository: RepositoryAccess, revision: Revision) -> CommitTree:
        server = self.services.server(repository)
        if repository.signers and not self._can_prove(repository.signers):
            cause = "the AppProject demands a signature by cosign, which only registries have"
            remedy = "Publish the chart in a registry, or correct the AppProject's annotation"
            raise server.error(Reason.SOURCE_UNPROVEN, cause, remedy)
        chart = self._chart(repository, server)
        async with chart.lock:
            entry = await self._entry(repository, server, revision)
            digest = entry.digest or entry.url if entry else ""
            kept = await asyncio.to_thread(chart.store.read, revision, digest)
            if kept is not None:
                return kept
            if entry is None:
                raise absent(server, revision, [])
            try:
                return await self._downloaded(repository, server, entry)
            except OSError as error:
                raise server.disk_refused(error) from error

    async def _fetch(self, repository: RepositoryAccess, server: DownloadServer) -> None:
        async with self._downloader(repository, server) as downloader:
            url = _below(repository, "index.yaml")
            index = self._index(repository, server)
            try:
                if await index.fetch(downloader, url, server.authorization):
                    await asyncio.to_thread(self.services.disk.evict)
            except OSError as error:
                raise server.disk_refused(error) from error

    async def _versions(
        self, repository: RepositoryAccess, server: DownloadServer
    ) -> Sequence[ChartVersion]:
        """List the versions of the chart; raises RepositoryError where there is no such chart."""
        try:
            found = await self._index(repository, server).versions(repository.chart)
        except ChartIndexError as error:
            raise server.hostile(str(error)) from error
        if not found:
            cause = f"its index has no version of a chart {repository.chart!r}"
            remedy = "Check the name of the chart, and that it is published there"
            raise server.error(Reason.REVISION_NOT_FOUND, cause, remedy)
        return found

    async def _entry(
        self, repository: RepositoryAccess, server: DownloadServer, revision: Revision
    ) -> ChartVersion | None:
        """Find a version in the index; None where it is not, or no longer."""
        if not await self._index(repository, server).known():
            await self.fetch(repository)
        known = await self._versions(repository, server)
        return next((one for one in known if one.version == revision), None)

    async def _downloaded(
        self, repository: RepositoryAccess, server: DownloadServer, entry: ChartVersion
    ) -> CommitTree:
        what = f"the archive of version {entry.version[:100]}"
        address = ArchiveAddress.of(server, repository, entry)
        asked = server if address.has_login else server.without_login
        chart = self._chart(repository, server)
        with self.services.disk.scratch() as folder:
            archive = Path(folder) / "archive"
            request = DownloadRequest(
                url=address.url,
                into=archive,
                limit=LARGEST_ARCHIVE,
                what=what,
                authorization=asked.authorization,
                further=address.further,
            )
            try:
                async with self._downloader(repository, asked) as downloader:
                    answer = await downloader.get(request)
            except RepositoryError as error:
                if asked is server or error.reason is not Reason.CREDENTIALS_REFUSED:
                    raise
                raise login_not_sent(server, address) from error
            if entry.digest and answer.digest != f"sha256:{entry.digest.removeprefix('sha256:')}":
                named = f"and the index names {entry.digest[:100]}"
                raise server.hostile(f"{what} has the digest {answer.digest}, {named}")
            key = entry.digest or entry.url
            if self.provenance is not None and repository.signers:
                name = repository.chart.rpartition("/")[2]
                came = ChartArchive(name, entry.version, answer.digest, repository.signers)
                async with self._downloader(repository, asked) as downloader:
                    await self.provenance.prove(downloader, asked, request, came)
            try:
                async with self.services.disk.unpacking:
                    files = chart_files(archive, repository.chart)
                    return await asyncio.to_thread(chart.store.write, entry.version, key, files)
            except ArchiveError as error:
                raise server.hostile(f"{what} {error}") from error

    def _can_prove(self, signers: Signers) -> bool:
        return self.provenance is not None and all(map(gnupg_keys_of, signers))

    def _downloader(
        self, repository: RepositoryAccess, server: DownloadServer
    ) -> AbstractAsyncContextManager[Downloader]:
        return open_downloader(server, repository.url.origin, self.services.trust)

    def _index(self, repository: RepositoryAccess, server: DownloadServer) -> IndexCache:
        shared = _of_all_charts(repository)
        folder = self.services.folder_of(shared, server)
        known = self._indexes.get(shared)
        if known is None or known.folder != folder:
            known = self._indexes[shared] = _Index(folder, IndexCache(folder, self._readers))
        return known.cache

    def _chart(self, repository: RepositoryAccess, server: DownloadServer) -> _Chart:
        repository = msgspec.structs.replace(repository, pass_credentials=False)
        folder = self.services.folder_of(repository, server)
        known = self._charts.get(repository)
        if known is None or known.folder != folder:
            known = _Chart(folder, ArchiveStore(folder, self.services.disk), asyncio.Lock())
            self._charts[repository] = known
        return known


def _of_all_charts(repository: RepositoryAccess) -> RepositoryAccess:
    """Drop what is of one chart or source: the index is one of all."""
    return msgspec.structs.replace(repository, chart="", signers=(), pass_credentials=False)


def _below(repository: RepositoryAccess, name: str) -> URL:
    return URL(f"{repository.url}/{name}", encoded=True)
