"""Remotes: a repository with a login of now, and with what its server is trusted by."""

from __future__ import annotations

import structlog

from agent.git.credentials import GitCredential
from agent.git.failures import not_issued, unusable
from agent.git.issued_logins.issued_logins import IssuedLogins
from agent.git.issued_logins.issuer import LoginIssueError
from agent.git.server_trust import ServerTrust
from agent.git.ssh_connections import SshConnections
from agent.git.transport import Remote
from bus.repository_url import RepositoryUrl

_log = structlog.get_logger(__name__)


class Remotes:
    def __init__(self, trust: ServerTrust, ssh: SshConnections) -> None:
        self._trust = trust
        self._ssh = ssh
        self._logins = IssuedLogins(trust)
        self._reported: set[str] = set()

    async def signed_in(self, url: RepositoryUrl, credential: GitCredential | None) -> Remote:
        """Get a login of now; raises RepositoryError."""
        try:
            login = await self._logins.signed_in(credential, url)
        except LoginIssueError as error:
            raise not_issued(self.of(url, credential), error) from error
        return self.of(url, login)

    def refused(self, url: RepositoryUrl, credential: GitCredential | None) -> None:
        """Note that the server refused the login: the next one is issued anew."""
        self._logins.refused(credential, url)

    def of(self, url: RepositoryUrl, credential: GitCredential | None) -> Remote:
        """Raises RepositoryError where the credential cannot be used."""
        known = self._trust.known_hosts() if url.is_ssh else ""
        remote = Remote(
            url=url,
            credential=credential,
            authority=self._trust.authority(str(url)),
            known_hosts=known,
            socket=self._ssh.socket(url, credential, known) if url.is_ssh else "",
        )
        if credential and credential.problem:
            raise unusable(remote, credential.problem)
        if credential and credential.ignored and credential.secret not in self._reported:
            self._reported.add(credential.secret)
            _log.warning(
                "secret fields not acted on", secret=credential.secret, fields=credential.ignored
            )
        return remote
