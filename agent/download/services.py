"""DownloadServices is what the readers of charts and artifacts need, and whom they ask as whom."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agent.download.failures import DownloadServer
from agent.git.credentials import CredentialSource, GitCredential
from agent.git.fetch_outcomes import FetchOutcomes
from agent.git.server_trust import ServerTrust
from agent.version_range import VersionChoice
from bus.identity import token_of
from handlers.ports import RepositoryAccess

SCRATCH = "scratch-"
"""Begins the names of folders that are gone after the call that made them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadServices:
    folder: Path
    credentials: CredentialSource
    trust: ServerTrust
    outcomes: FetchOutcomes
    versions: VersionChoice

    def server(self, repository: RepositoryAccess) -> DownloadServer:
        """Name the server with the Secret's credential, else with the login in the URL."""
        found = self.credentials.for_url(repository.url, repository.project)
        login = repository.login
        if found is None and login is not None:
            found = GitCredential(username=login.username, password=login.password)
        host = repository.url.origin.host
        return DownloadServer(name=str(repository.key), host=host, credential=found)

    def folder_of(self, repository: RepositoryAccess) -> Path:
        """Make the folder of a repository; its name says nothing of a login."""
        login = repository.login
        written = f"{login.username}\n{login.password}" if login else ""
        token = token_of(f"{repository.kind}:{repository.key}\n{repository.project}\n{written}")
        found = self.folder / token
        found.mkdir(parents=True, exist_ok=True)
        return found

    def record(
        self, repository: RepositoryAccess, server: DownloadServer, failure: str = ""
    ) -> None:
        """Note how a fetch ended, for the state of the connection."""
        self.outcomes.record(str(repository.url), server.credential, failure)
