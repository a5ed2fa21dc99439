"""DownloadServices is what the readers of charts and artifacts need, and whom they ask as whom."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from agent.download.disk import DownloadDisk
from agent.download.failures import DownloadServer
from agent.git.credentials import CredentialSource, credential_of
from agent.git.fetch_outcomes import FetchOutcomes
from agent.git.server_trust import ServerTrust
from agent.version_range import VersionChoice
from bus.identity import digest_of
from handlers.ports import RepositoryAccess, RepositoryError


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadServices:
    disk: DownloadDisk
    credentials: CredentialSource
    trust: ServerTrust
    outcomes: FetchOutcomes
    versions: VersionChoice

    def server(self, repository: RepositoryAccess) -> DownloadServer:
        """Name the server with the Secret's credential, else with the login in the URL."""
        found = credential_of(self.credentials, repository)
        host = repository.url.origin.host
        return DownloadServer(name=str(repository.key), host=host, credential=found)

    def folder_of(self, repository: RepositoryAccess, server: DownloadServer) -> Path:
        """Name the folder of what this login reads of a repository; the name hides the login.

        What is kept belongs to the login that fetched it: where a Secret's login is withdrawn,
        changed, or given to another project, nobody else is served what it has opened. What has to
        be signed by others is kept apart too, so that no folder has two writers.
        """
        identity = self.disk.identities.of(server.credential)
        place = f"{repository.kind}:{repository.key}\n{repository.project}\n{identity}"
        if repository.signers:
            place += f"\n{digest_of(msgspec.json.encode(repository.signers))}"
        return self.disk.folder / self.disk.identities.digest(place)

    @contextmanager
    def recorded(self, repository: RepositoryAccess, server: DownloadServer) -> Iterator[None]:
        """Note how a fetch ends, for the state of the connection."""
        url, credential = str(repository.url), server.credential
        try:
            yield
        except RepositoryError as error:
            self.outcomes.record(url, credential, error.message)
            raise
        self.outcomes.record(url, credential)
