"""Credentials as values: what introduces us to a repository, and the Secret that it came from.

No value here shows a password in its `repr`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agent.git.issued_logins.issuer import LoginIssuer
from bus.repository_url import RepositoryUrl
from handlers.ports import RepositoryAccess

SECRET_TYPE = "argocd.argoproj.io/secret-type"  # noqa: S105  a label's name
ANY_USER = "x-access-token"
"""Hosts that take a token as password want some user name beside it, and do not read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A Kubernetes Secret with its data decoded."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    data: Mapping[str, str] = field(repr=False)
    governed: bool = False
    """Whether it came over the link."""
    uid: str = ""
    resource_version: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitCredential:
    """How to introduce ourselves to a repository; `secret` is the `namespace/name` it came from."""

    secret: str = ""
    secrets: tuple[str, ...] = ()
    """Every Secret that it was made of."""
    project: str = ""
    """Whose Applications it serves; empty: those of all projects."""
    username: str = ""
    password: str = field(default="", repr=False)
    bearer_token: str = field(default="", repr=False)
    insecure: bool = False
    """Do not verify the server's certificate."""
    proxy: str = field(default="", repr=False)
    no_proxy: str = ""
    certificate: str = field(default="", repr=False)
    """With which we introduce ourselves to the server's TLS, in PEM; `key` is its private key."""
    key: str = field(default="", repr=False)
    ssh_key: str = field(default="", repr=False)
    """The private key of SSH; nothing else is a login there."""
    issuer: LoginIssuer | None = None
    """Of whom a login is asked, in place of one in the Secret; `IssuedLogins` puts it in."""
    is_registry: bool = False
    """Whether the Secret says that a Helm repository is an OCI registry (`enableOCI`)."""
    pass_credentials: bool = False
    """Whether archives of charts may have the login anywhere on the repository's server."""
    plain_http: bool = False
    """Whether a registry is spoken to without TLS (`insecureOCIForceHttp`)."""
    lfs: bool = False
    """Whether objects of Git LFS are read in place of their pointers (`enableLfs`)."""
    ignored: tuple[str, ...] = ()
    """Fields of the Secret that this version does not act on."""
    problem: str = ""
    """Why the Secret cannot be used at all; a sentence for people."""

    @property
    def anonymous(self) -> bool:
        return not (self._has_login or self.issuer)

    @property
    def _has_login(self) -> bool:
        return bool(self.username or self.password or self.bearer_token or self.ssh_key)

    @property
    def authorization(self) -> str:
        """The value of the HTTP header, or nothing."""
        if self.bearer_token:
            return f"Bearer {self.bearer_token}"
        if not self._has_login:
            return ""
        pair = f"{self.username or ANY_USER}:{self.password}"
        return "Basic " + b64encode(pair.encode()).decode()

    @property
    def hidden(self) -> tuple[str, ...]:
        """Every text that must never be shown."""
        words = (self.authorization.rpartition(" ")[2], self.password, self.bearer_token)
        return tuple(word for word in (*words, self.proxy) if word)


class CredentialSource(Protocol):
    def for_url(self, url: RepositoryUrl, project: str) -> GitCredential | None: ...
    def url_named(self, name: str, project: str) -> str:
        """Find the URL of the charts to which a Secret gives this name; empty where none does."""
        ...


def credential_of(source: CredentialSource, repository: RepositoryAccess) -> GitCredential | None:
    """Take the Secret's credential as it is now, else the login in the URL."""
    found = source.for_url(repository.url, repository.project)
    login = repository.login
    if found is None and login is not None:
        return GitCredential(username=login.username, password=login.password)
    return found
