"""A failed download is classified, with a message that tells a person what to do. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent.git.credentials import GitCredential
from agent.git.failures import CERTIFICATES, LOGIN_PLACE
from bus.status import Reason
from handlers.ports import RepositoryError

_CHECK_LOGIN = "Check user name and password of the Secret, and its rights"
_NO_LOGIN = f"Store user name and password in {LOGIN_PLACE}"
_ISSUED = (
    "Of logins that a host issues, useAzureWorkloadIdentity and gcpServiceAccountKey are for "
    "registries too, all others for Git repositories only: store user name and password in a "
    "Secret of the repository, or check the rights of the account"
)
_TRIED_AGAIN = "it is tried again"


def _login_remedy(credential: GitCredential | None) -> str:
    if credential is not None and credential.issuer is not None:
        return _ISSUED
    return _NO_LOGIN if credential is None or credential.anonymous else _CHECK_LOGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadServer:
    """Whose files are read, as an error names it."""

    name: str
    """Address and chart, canonical and without a login."""
    host: str
    credential: GitCredential | None = None

    def error(self, reason: Reason, cause: str, remedy: str) -> RepositoryError:
        secret = self.credential.secret if self.credential else ""
        who = f"credentials of Secret {secret}" if secret else "no Secret fits this URL"
        return RepositoryError(reason, f"{self.name} cannot be read: {cause} ({who}). {remedy}.")

    def refused(self, status: int, what: str) -> RepositoryError:
        """Say what an HTTP status means to whom it concerns."""
        cause = f"{what} was answered with HTTP {status}"
        if status in (401, 403):
            return self.error(Reason.CREDENTIALS_REFUSED, cause, _login_remedy(self.credential))
        if status == 404:
            remedy = "Check the URL and the name, and that these credentials may read it"
        else:
            remedy = f"Check that the server is up; {_TRIED_AGAIN}"
        return self.error(Reason.REPOSITORY_UNREACHABLE, cause, remedy)

    def overloaded(self, seconds: int) -> RepositoryError:
        cause = f"it asks to wait {seconds} s (HTTP 429), and is not asked before"
        remedy = "Ask it less often, or with a login that has a higher limit"
        return self.error(Reason.REPOSITORY_UNREACHABLE, cause, remedy)

    def unreachable(self, cause: str) -> RepositoryError:
        lowered = cause.lower()
        if "certificate" in lowered or "ssl" in lowered:
            remedy = (
                "Check the server's certificate; if a private authority has signed it, put that "
                f"authority's certificate into ConfigMap {CERTIFICATES}, key {self.host}"
            )
        else:
            remedy = f"Check that the server is up and can be reached from here; {_TRIED_AGAIN}"
        return self.error(Reason.REPOSITORY_UNREACHABLE, cause, remedy)

    def unusable(self, problem: str) -> RepositoryError:
        return self.error(Reason.CREDENTIALS_REFUSED, problem, "Mend the Secret")

    def hostile(self, cause: str) -> RepositoryError:
        """Refuse what a server sent, which asking again does not mend."""
        remedy = "Publish it anew, or ask who runs the server"
        return self.error(Reason.MANIFEST_INVALID, cause, remedy)

    def disk_refused(self, error: OSError) -> RepositoryError:
        cause = f"the agent's disk refused it ({error.strerror or 'no reason named'})"
        remedy = f"Make room in the agent's GITOPS_STATE_DIR; {_TRIED_AGAIN}"
        return self.error(Reason.DISK_FULL, cause, remedy)

    @property
    def without_login(self) -> DownloadServer:
        """The same server, for files that the login is not for."""
        if self.credential is None or self.credential.problem:
            return self
        bare = replace(
            self.credential, username="", password="", bearer_token="", certificate="", key=""
        )
        return replace(self, credential=bare)

    @property
    def authorization(self) -> str:
        """The value of the header with the Secret's login, or nothing."""
        return self.credential.authorization if self.credential else ""
