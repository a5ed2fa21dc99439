"""RegistryLogins asks for the login of a registry whose Secret has none of its own.

A Secret may say instead who issues one: the workload identity of the pod (Azure), or an account of
Google Cloud. What is issued is a user and password for the registry's own challenge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from agent.download.failures import DownloadServer
from agent.git.credentials import GitCredential
from agent.git.issued_logins.issued_logins import IssuedLogins
from agent.git.issued_logins.issuer import LoginIssueError
from bus.repository_url import RepositoryUrl
from bus.status import Reason


@dataclass(frozen=True, slots=True)
class RegistryLogins:
    issued: IssuedLogins

    async def signed_in(self, server: DownloadServer, url: RepositoryUrl) -> DownloadServer:
        """Put a login of now into the credential of a server; raises RepositoryError."""
        credential = server.credential
        if credential is None or credential.issuer is None or not credential.issuer.for_registries:
            return server
        if credential.plain_http:
            cause = "a login that is issued is not sent without TLS"
            remedy = "Remove insecureOCIForceHttp from the Secret"
            raise server.error(Reason.CREDENTIALS_REFUSED, cause, remedy)
        try:
            found = await self.issued.signed_in(credential, as_registry(url))
        except LoginIssueError as error:
            refused = Reason.CREDENTIALS_REFUSED
            reason = refused if error.refused else Reason.REPOSITORY_UNREACHABLE
            raise server.error(reason, error.message, error.remedy) from error
        return replace(server, credential=found)


def as_registry(url: RepositoryUrl) -> RepositoryUrl:
    """Write the address as one of a registry, which `enableOCI` may say of any."""
    return msgspec.structs.replace(url, origin=msgspec.structs.replace(url.origin, scheme="oci"))


def elsewhere(server: DownloadServer) -> DownloadServer:
    """Leave out what is for the registry's own server: certificate, and trust without proof."""
    credential = server.credential or GitCredential()
    return replace(server, credential=replace(credential, certificate="", key="", insecure=False))
