"""OciArtifacts reads charts and artifacts of OCI registries: the port SourceReader.

An artifact's revisions are the digests of its manifests, a chart's are its versions. A target
revision is resolved once, and again at each fetch. What was unpacked is kept by the digest of its
layer, so a tag that moves is read anew.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec

from agent.download.archive import ArchiveError, archived_files
from agent.download.archive_store import ArchiveStore
from agent.download.archived_source import ArchivedSource
from agent.download.chart_files import chart_files
from agent.download.chosen_version import absent, check_target, chosen_version
from agent.download.failures import DownloadServer
from agent.download.fetch_turns import FetchTurns
from agent.download.services import DownloadServices
from agent.oci.manifest import ArtifactError, content_layer, is_digest, manifest_of
from agent.oci.reference import base_of, name_of, tag_of
from agent.oci.registry import AbsentError, Registry
from agent.oci.registry_logins import RegistryLogins
from agent.oci.signatures import prove
from bus.identity import Digest, Revision
from bus.status import Reason
from handlers.application.version_range import is_pin, may_be_range
from handlers.ports import CommitTree, RepositoryAccess, RepositoryError

LARGEST_LAYER = 100 * 1024 * 1024
_MOST_TARGETS = 256


class Resolved(msgspec.Struct, frozen=True):
    """What a target revision means now."""

    revision: Revision
    manifest: Digest


@dataclass(slots=True, kw_only=True)
class _Repository:
    """What is known of one repository in this process."""

    folder: Path
    """Named by the login too."""
    registry: Registry
    store: ArchiveStore
    turns: FetchTurns = field(default_factory=FetchTurns)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    targets: dict[str, Resolved] = field(default_factory=dict)
    proven: set[str] = field(default_factory=set)
    """Digests with the signatures that are demanded."""


@dataclass(slots=True, kw_only=True)
class OciArtifacts(ArchivedSource):
    services: DownloadServices
    logins: RegistryLogins
    _known: dict[RepositoryAccess, _Repository] = field(default_factory=dict)
    _outdated_at: float = -float("inf")

    def outdate(self) -> None:
        """Ask for each target before its next answer: another replica may have seen a newer one."""
        self._outdated_at = time.monotonic()

    async def fetch(self, repository: RepositoryAccess) -> None:
        server = self.services.server(repository)
        try:
            with self.services.recorded(repository, server):
                known = self._of(server, repository)
                await known.turns.run(lambda: self._fetch(server, repository, known))
        except OSError as error:
            raise server.disk_refused(error) from error

    def looked_at(self, repository: RepositoryAccess) -> datetime | None:
        known = self._known.get(repository)
        return known.turns.looked_at if known else None

    async def resolve(self, repository: RepositoryAccess, target_revision: str) -> Revision:
        return (await self._resolved(repository, target_revision)).revision

    async def tree(self, repository: RepositoryAccess, revision: Revision) -> CommitTree:
        server = self.services.server(repository)
        known = self._of(server, repository)
        async with known.lock:
            try:
                return await self._tree(server, repository, known, revision)
            except AbsentError:
                kept = await asyncio.to_thread(known.store.read, revision, "")
                if kept is None or repository.signers:
                    raise absent(server, revision, ()) from None
                return kept
            except OSError as error:
                raise server.disk_refused(error) from error

    async def _fetch(
        self, server: DownloadServer, repository: RepositoryAccess, known: _Repository
    ) -> None:
        """Resolve again what is in use; where nothing is yet, look whether it can be read."""
        targets, known.targets = list(known.targets), {}
        if not targets:
            await known.registry.ping(server)
        for target in targets:
            try:
                known.targets[target] = await self._ask(server, repository, known, target)
            except RepositoryError as error:
                if error.reason is not Reason.REVISION_NOT_FOUND:
                    raise

    async def _resolved(self, repository: RepositoryAccess, target: str) -> Resolved:
        server = self.services.server(repository)
        known = self._of(server, repository)
        if known.targets and not known.turns.fetched_since(self._outdated_at):
            await self.fetch(repository)
        found = known.targets.get(target)
        if found is None:
            try:
                found = await self._ask(server, repository, known, target)
            except OSError as error:
                raise server.disk_refused(error) from error
            if len(known.targets) >= _MOST_TARGETS:
                known.targets.clear()
            known.targets[target] = found
        await asyncio.to_thread(known.store.use, found.revision)
        return found

    async def _ask(
        self, server: DownloadServer, repository: RepositoryAccess, known: _Repository, target: str
    ) -> Resolved:
        """Resolve as digest, tag or range, in this order; raises RepositoryError."""
        if not known.registry.name:
            cause = "its URL names a registry and no artifact in it"
            raise server.error(Reason.INVALID_SPEC, cause, "Correct spec.source.repoURL")
        if not target:
            cause = "spec.source.targetRevision is empty"
            raise server.error(Reason.REVISION_NOT_FOUND, cause, "Name a tag, a digest or a range")
        check_target(server, target)
        is_chart = bool(repository.chart)
        try:
            if (tag := tag_of(target)) and not (is_chart and may_be_range(target)):
                digest, _ = await known.registry.manifest(server, tag)
                return Resolved(Revision(target if is_chart else digest), digest)
        except AbsentError:
            if is_pin(target) or not may_be_range(target):
                raise absent(server, target, await self._tags(server, known)) from None
        return await self._of_range(server, repository, known, target)

    async def _of_range(
        self, server: DownloadServer, repository: RepositoryAccess, known: _Repository, target: str
    ) -> Resolved:
        by_version = {one.replace("_", "+"): one for one in await self._tags(server, known)}
        versions, project = tuple(by_version), repository.project
        choice = self.services.versions
        version = await chosen_version(server, choice, target, versions, project=project)
        try:
            digest, _ = await known.registry.manifest(server, by_version[version])
        except AbsentError:
            raise absent(server, version, ()) from None  # deleted in this very moment
        return Resolved(Revision(version if repository.chart else digest), digest)

    async def _tags(self, server: DownloadServer, known: _Repository) -> tuple[str, ...]:
        try:
            return await known.registry.tags(server)
        except AbsentError:
            raise server.refused(404, "its list of tags") from None

    async def _tree(
        self,
        server: DownloadServer,
        repository: RepositoryAccess,
        known: _Repository,
        revision: Revision,
    ) -> CommitTree:
        """Raises AbsentError, RepositoryError and OSError."""
        reference = tag_of(revision)
        resolved = next((it for it in known.targets.values() if it.revision == revision), None)
        if resolved is not None:
            reference = resolved.manifest
        if is_digest(reference):
            await self._prove(server, repository, known, reference)
            kept = await asyncio.to_thread(known.store.read, revision, reference)
            if kept is not None:
                return kept
        digest, content = await known.registry.manifest(server, reference)
        await self._prove(server, repository, known, digest)
        kept = await asyncio.to_thread(known.store.read, revision, digest)
        return kept or await self._unpacked(server, repository, known, revision, digest, content)

    async def _prove(
        self, server: DownloadServer, repository: RepositoryAccess, known: _Repository, digest: str
    ) -> None:
        """Raise RepositoryError where the project demands a signature that is not there."""
        if not repository.signers or digest in known.proven:
            return
        await prove(known.registry, server, Digest(digest), repository.signers)
        known.proven.add(digest)

    async def _unpacked(
        self,
        server: DownloadServer,
        repository: RepositoryAccess,
        known: _Repository,
        revision: Revision,
        digest: Digest,
        content: bytes,
    ) -> CommitTree:
        try:
            manifest = manifest_of(content)
            layer = content_layer(manifest)
        except ArtifactError as error:
            raise server.hostile(str(error)) from error
        with self.services.disk.scratch() as folder:
            archive = Path(folder) / "layer"
            await known.registry.blob(server, layer.digest, archive, LARGEST_LAYER)
            if manifest.is_chart:
                files = chart_files(archive, repository.chart)
            else:
                files = archived_files(archive, links=True)
            try:
                async with self.services.disk.unpacking:
                    return await asyncio.to_thread(known.store.write, revision, digest, files)
            except ArchiveError as error:
                raise server.hostile(f"the layer {layer.digest} {error}") from error

    def _of(self, server: DownloadServer, repository: RepositoryAccess) -> _Repository:
        """Know what this login reads; raises RepositoryError where no registry has such a name."""
        known = self._known.get(repository)
        base, folder = base_of(server, repository), self.services.folder_of(repository, server)
        if known is None or (known.registry.base, known.folder) != (base, folder):
            registry = Registry(
                base=base,
                name=name_of(server, repository),
                trust=self.services.trust,
                folder=self.services.disk.scratch_folder,
                sign_in=partial(self.logins.signed_in, url=repository.url),
            )
            store = ArchiveStore(folder, self.services.disk)
            known = _Repository(folder=folder, registry=registry, store=store)
        self._known[repository] = known
        return known
