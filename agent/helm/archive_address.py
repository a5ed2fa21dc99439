"""ArchiveAddress is where an index says that a chart's archive is, and whether a login goes there.

Who writes an index chooses its addresses, and need not be the owner of the login that reads it. So
a repository of https stays with https, and the login stays below the repository's own path: another
team's archives on the same server are none of this index. A Secret may say otherwise with
`passCredentials`, for the server of the repository; and a source with
`helm.passCredentials`, for every server that the index names, as Helm does. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from yarl import URL

from agent.download.failures import DownloadServer
from agent.helm.index import ChartVersion
from bus.address import AddressError, Origin, canonical_path
from bus.repository_url import RepositoryUrl
from bus.status import Reason
from handlers.ports import RepositoryAccess, RepositoryError


class ArchiveAddress(NamedTuple):
    url: URL
    has_login: bool
    """Whether the login may be sent there, as far as it is the repository's own server."""
    further: Origin | None = None
    """Another server, that of the archive, to which the login may be sent."""

    @classmethod
    def of(
        cls, server: DownloadServer, repository: RepositoryAccess, entry: ChartVersion
    ) -> ArchiveAddress:
        """Read the URL of the index, absolute or relative to the repository; RepositoryError."""
        written, version = entry.url, entry.version[:100]
        if written.lower().startswith("oci://"):
            cause = f"the archive of version {version} is in the registry {written[:200]!r}"
            remedy = "Read the chart there: its address without oci:// and the chart is the repoURL"
            raise server.error(Reason.INVALID_SPEC, cause, remedy)
        try:
            url = URL(f"{repository.url}/", encoded=True).join(URL(written))
        except ValueError:
            url = URL()
        if not written or url.scheme not in ("https", "http") or not url.host or url.user:
            cause = f"the index names {written[:200]!r} as the archive of version {version}"
            raise server.hostile(cause)
        if url.scheme == "http" and repository.url.origin.scheme == "https":
            cause = f"the index names {written[:200]!r}, without TLS, as that of version {version}"
            raise server.hostile(cause)
        if repository.pass_credentials:
            return cls(url, True, _origin(url))  # noqa: FBT003  the field of a tuple
        consents = server.credential is not None and server.credential.pass_credentials
        return cls(url, consents or _is_covered(url, repository.url))


def login_not_sent(server: DownloadServer, address: ArchiveAddress) -> RepositoryError:
    """Say why an archive that wants a login was not given that of the repository."""
    shown = str(address.url.with_query(None))[:200]
    cause = (
        f"the index names the archive {shown!r}, which wants a login and is not "
        "below the repository's URL, so that the repository's login was not sent"
    )
    remedy = (
        "Keep archives below the repository, or let its Secret send the login to the whole server "
        'with passCredentials: "true"'
    )
    return server.error(Reason.CREDENTIALS_REFUSED, cause, remedy)


def _origin(url: URL) -> Origin | None:
    try:
        return Origin.parse(url.scheme, url.authority)
    except AddressError:
        return None


def _is_covered(url: URL, repository: RepositoryUrl) -> bool:
    """Whether it is below the path, whoever reads it; another server gets no login anyway."""
    try:
        if Origin.parse(url.scheme, url.authority) != repository.origin:
            return True
        return canonical_path(url.raw_path).startswith(f"{repository.path}/")
    except AddressError:
        return False
