"""SourceReaders reads every kind of source, each by its adapter: the port Sources.

A new kind is an adapter (`handlers.ports.SourceReader`) and a line of `source_readers`. Which
credential reads a repository is found here, the same for all kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from msgspec.structs import replace

from agent.download.services import DownloadServices
from agent.git.credentials import CredentialSource, GitCredential
from agent.git.issued_logins.issued_logins import IssuedLogins
from agent.git.mirrors import Mirrors
from agent.helm.charts import HelmCharts
from agent.helm.provenance import ProvenanceChecks
from agent.oci.artifacts import OciArtifacts
from agent.oci.registry_logins import RegistryLogins
from bus.events import Commit
from bus.identity import Revision
from bus.repository_url import RepositoryUrlError, UrlLogin, login_of
from bus.status import Reason
from handlers.application.artifact_signers import Signers
from handlers.application.source_address import (
    OCI_SCHEME,
    SourceAddress,
    SourceKind,
    passes_credentials,
)
from handlers.application.spec import Source
from handlers.ports import CommitTree, RepositoryAccess, RepositoryError, SourceReader


class OutdatedReader(SourceReader, Protocol):
    def outdate(self) -> None: ...


SignersOf = Callable[[SourceAddress, str], Signers]
"""Who has to have signed what a project reads at an address."""


def _nobody_asked(_address: SourceAddress, _project: str) -> Signers:
    return ()


def source_readers(
    mirrors: Mirrors,
    services: DownloadServices,
    signers: SignersOf = _nobody_asked,
    provenance: ProvenanceChecks | None = None,
) -> SourceReaders:
    """Build the reader of every kind of source."""
    logins = RegistryLogins(IssuedLogins(services.trust))
    return SourceReaders(
        credentials=services.credentials,
        signers=signers,
        by_kind={
            SourceKind.GIT: mirrors,
            SourceKind.HELM: HelmCharts(services=services, provenance=provenance),
            SourceKind.OCI: OciArtifacts(services=services, logins=logins),
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReaders:
    credentials: CredentialSource
    by_kind: Mapping[SourceKind, OutdatedReader]
    signers: SignersOf = _nobody_asked

    def outdate(self) -> None:
        """Look at each server before the next answer: another replica may have seen newer."""
        for reader in self.by_kind.values():
            reader.outdate()

    def access(self, source: Source, project: str) -> RepositoryAccess:
        """Raises RepositoryError where the source names no repository for certain."""
        try:
            address = SourceAddress.of(source)
            login = login_of(source.repo_url) if "://" in source.repo_url else None
        except RepositoryUrlError as error:
            raise RepositoryError(Reason.INVALID_SPEC, str(error)) from error
        found = self.access_at(address, project, login)
        if found.kind is not SourceKind.HELM or not passes_credentials(source):
            return found
        return replace(found, pass_credentials=True)

    def access_at(
        self, address: SourceAddress, project: str, login: UrlLogin | None = None
    ) -> RepositoryAccess:
        """Find the credential for an address; a chart may be left out to reach its repository."""
        credential = self.credentials.for_url(address.url, project)
        return RepositoryAccess(
            url=address.url,
            project=credential.project if credential else "",
            login=None if credential else login,
            kind=_reader_kind(address, credential),
            chart=address.chart,
            signers=self.signers(address, project),
        )

    def url_named(self, name: str, project: str) -> str:
        return self.credentials.url_named(name, project)

    async def fetch(self, repository: RepositoryAccess) -> None:
        await self._of(repository).fetch(repository)

    def looked_at(self, repository: RepositoryAccess) -> datetime | None:
        return self._of(repository).looked_at(repository)

    async def resolve(self, repository: RepositoryAccess, target_revision: str) -> Revision:
        return await self._of(repository).resolve(repository, target_revision)

    async def tree(self, repository: RepositoryAccess, revision: Revision) -> CommitTree:
        return await self._of(repository).tree(repository, revision)

    async def changed_paths(
        self, repository: RepositoryAccess, before: Revision, after: Revision
    ) -> frozenset[str] | None:
        return await self._of(repository).changed_paths(repository, before, after)

    async def reaches(self, repository: RepositoryAccess, tip: Revision, wanted: Revision) -> bool:
        return await self._of(repository).reaches(repository, tip, wanted)

    async def commit(self, repository: RepositoryAccess, revision: Revision) -> Commit | None:
        return await self._of(repository).commit(repository, revision)

    def _of(self, repository: RepositoryAccess) -> SourceReader:
        reader = self.by_kind.get(repository.kind)
        if reader is None:
            message = f"{repository.key}: no source of the kind {repository.kind} is read"
            raise RepositoryError(Reason.INVALID_SPEC, message)
        return reader


def _reader_kind(address: SourceAddress, credential: GitCredential | None) -> SourceKind:
    """A chart is read from a registry where its URL or its Secret (`enableOCI`) says so."""
    if address.kind is not SourceKind.HELM:
        return address.kind
    is_registry = credential is not None and credential.is_registry
    return (
        SourceKind.OCI if is_registry or address.url.origin.scheme == OCI_SCHEME else address.kind
    )
