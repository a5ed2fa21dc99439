"""Argo CD's repository Secrets as values: which credential belongs to which URL.

A Secret labelled `repository` names one URL; one labelled `repo-creds` names a prefix, and lends
its user to repositories that have none of their own. URLs are compared in normalised form. What a
Secret says beyond HTTPS users and tokens is listed in `ignored`, so that someone can say so.

Pure: the caller watches the Secrets and hands in their decoded strings. No value here shows a
password in its `repr`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import unquote, urlsplit, urlunsplit

from bus.identity import normalise_url

SECRET_TYPE = "argocd.argoproj.io/secret-type"  # noqa: S105  a label's name
ANY_USER = "x-access-token"
"""Hosts that take a token as password want some user name beside it, and do not read it."""

_NOT_ACTED_ON = (
    "githubAppID",
    "gcpServiceAccountKey",
    "useAzureWorkloadIdentity",
    "azureServicePrincipalClientId",
    "azureServicePrincipalClientID",
    "enableLfs",
    "depth",
)
_TRUE = ("1", "t", "true")
_FALSE = ("", "0", "f", "false")


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A Kubernetes Secret with its data decoded."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    data: Mapping[str, str] = field(repr=False)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """How to introduce ourselves to a repository; `secret` is the `namespace/name` it came from."""

    secret: str = ""
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
    ignored: tuple[str, ...] = ()
    """Fields of the Secret that this version does not act on."""
    problem: str = ""
    """Why the Secret cannot be used at all; a sentence for people."""

    @property
    def anonymous(self) -> bool:
        return not (self.username or self.password or self.bearer_token)

    @property
    def authorization(self) -> str:
        """The value of the HTTP header, or nothing."""
        if self.bearer_token:
            return f"Bearer {self.bearer_token}"
        if self.anonymous:
            return ""
        pair = f"{self.username or ANY_USER}:{self.password}"
        return "Basic " + b64encode(pair.encode()).decode()

    @property
    def hidden(self) -> tuple[str, ...]:
        """Every text that must never be shown."""
        words = (self.authorization.rpartition(" ")[2], self.password, self.bearer_token)
        return tuple(word for word in (*words, self.proxy) if word)


class CredentialSource(Protocol):
    def for_url(self, url: str) -> Credential | None: ...


class SecretCredentials:
    """A CredentialSource over whatever Secrets are known at the moment of asking."""

    def __init__(self, secrets: Callable[[], Iterable[Secret]]) -> None:
        self._secrets = secrets

    def for_url(self, url: str) -> Credential | None:
        return credential_for(self._secrets(), url)


def split_user(url: str) -> tuple[str, Credential | None]:
    """`url` without user information, and what stood there: it must not reach a command line."""
    parts = urlsplit(url)
    if "@" not in parts.netloc or parts.scheme not in ("http", "https"):
        return url, None
    user, _, host = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    clean = urlunsplit(parts._replace(netloc=host))
    return clean, Credential(username=unquote(name), password=unquote(password))


def credential_for(secrets: Iterable[Secret], url: str) -> Credential | None:
    """The repository's own Secret; without a user of its own it borrows one of `repo-creds`.

    Of several Secrets for one URL the one without a project wins: a mirror is shared by all
    projects, and which project may use which URL is decided by the project's rules.
    """
    wanted = normalise_url(url)
    known = sorted(secrets, key=lambda secret: (bool(secret.data.get("project")), str(secret)))
    own = next((s for s in _typed(known, "repository") if _url(s) == wanted), None)
    mine = _read(own) if own else None
    if mine and (mine.problem or not mine.anonymous):
        return mine
    lent = max(
        (s for s in _typed(known, "repo-creds") if _covers(_url(s), wanted)),
        key=lambda secret: len(_url(secret)),
        default=None,
    )
    if lent is None:
        return mine
    theirs = _read(lent)
    return _lent(theirs, mine) if mine else theirs


def _lent(theirs: Credential, mine: Credential) -> Credential:
    """Their login, and of our own Secret the way to the server."""
    shown = mine if mine.certificate else theirs
    return replace(
        theirs,
        insecure=mine.insecure,
        proxy=mine.proxy,
        no_proxy=mine.no_proxy,
        certificate=shown.certificate,
        key=shown.key,
    )


def _typed(secrets: Iterable[Secret], kind: str) -> Iterable[Secret]:
    return (s for s in secrets if s.labels.get(SECRET_TYPE) == kind and s.data.get("url"))


def _url(secret: Secret) -> str:
    return normalise_url(secret.data["url"])


def _covers(prefix: str, url: str) -> bool:
    return url.startswith(prefix)


def _read(secret: Secret) -> Credential:
    data = secret.data
    insecure = data.get("insecure", "").strip().lower()
    return Credential(
        secret=str(secret),
        username=data.get("username", ""),
        password=data.get("password", ""),
        bearer_token=data.get("bearerToken", ""),
        insecure=insecure in _TRUE,
        proxy=data.get("proxy", ""),
        no_proxy=data.get("noProxy", ""),
        certificate=data.get("tlsClientCertData", ""),
        key=data.get("tlsClientCertKey", ""),
        ignored=tuple(name for name in _NOT_ACTED_ON if data.get(name)),
        problem=_problem(data, insecure),
    )


def _problem(data: Mapping[str, str], insecure: str) -> str:
    if data.get("sshPrivateKey"):
        return "it holds an SSH key, and this version speaks HTTPS only; use username and password"
    if insecure not in (*_TRUE, *_FALSE):
        return "its field insecure is neither true nor false"
    if bool(data.get("tlsClientCertData")) != bool(data.get("tlsClientCertKey")):
        return "of tlsClientCertData and tlsClientCertKey it holds one; a client needs both"
    said = "".join(data.get(name, "") for name in ("username", "password", "bearerToken"))
    if any(character in said for character in "\r\n\0"):
        return "its user name, password or token holds a line break; store it without one"
    return ""
