"""Repository Secrets of Argo CD are read here: which credential belongs to which URL.

A Secret labelled `repository` names one URL; one labelled `repo-creds` names a prefix, and lends
its user to repositories that have none of their own: those of the same scheme, host and port, below
a path that ends at a slash. Which login counts is decided by the scheme of the Secret's own URL: a
key for SSH; for HTTPS a user, a token, or an account for which a host issues one. What a Secret
says beyond these is listed in `ignored`, so that someone can say so.

Pure: the caller watches the Secrets and hands in their decoded strings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from agent.git.credentials import SECRET_TYPE, GitCredential, Secret
from agent.git.login_kinds import issuer_of
from agent.git.ssh_key import key_problem, normalised_key
from agent.git.ssh_proxy import ssh_proxy_problem
from bus.repository_url import RepositoryUrl, RepositoryUrlError

_NOT_ACTED_ON = ("depth",)
_ENABLE_LFS = "enableLfs"
_REPOSITORY = "repository"
_INSECURE = ("insecure", "insecureIgnoreHostKey")
_ENABLE_OCI, _PLAIN_HTTP = "enableOCI", "insecureOCIForceHttp"
_PASS_CREDENTIALS = "passCredentials"  # noqa: S105  a field's name
_OF_CHARTS = ("helm", "oci")
_TRUE = ("1", "t", "true")
_FALSE = ("", "0", "f", "false")


class SecretTypes(NamedTuple):
    """The labels of the Secrets that serve one use: of a repository, and of a prefix of URLs."""

    repository: str
    prefix: str


READING = SecretTypes("repository", "repo-creds")
WRITING = SecretTypes("repository-write", "repo-write-creds")
"""For hydrated branches: no Secret of one use ever serves the other."""


class SecretCredentials:
    """A CredentialSource over whatever Secrets are known at the moment of asking."""

    def __init__(
        self, secrets: Callable[[], Iterable[Secret]], types: SecretTypes = READING
    ) -> None:
        self._secrets = secrets
        self._types = types

    def for_url(self, url: RepositoryUrl, project: str) -> GitCredential | None:
        return credential_for(self._secrets(), url, project, self._types)

    def url_named(self, name: str, project: str) -> str:
        return url_named(self._secrets(), name, project)


def credential_for(
    secrets: Iterable[Secret], url: RepositoryUrl, project: str, types: SecretTypes = READING
) -> GitCredential | None:
    """The repository's own Secret; without a user of its own it borrows one of `repo-creds`.

    A Secret with a project serves the Applications of that project, and goes before one for all.
    A Secret for `app` also serves `app.git` of the same server, unless that has its own.
    """
    known = [one for one in secrets if one.data.get("project", "") in ("", project)]
    named = _addressed(known, types.repository)
    same = [it for it in named if it[1].without_suffix == url.without_suffix]
    own = min(same, key=lambda it: (_is_for_all(it[0]), it[1] != url, str(it[0])), default=None)
    mine = _read(own[0]) if own else None
    if mine and (mine.problem or not mine.anonymous):
        return mine
    covering = [it for it in _addressed(known, types.prefix) if it[1].covers(url)]
    lent = min(
        covering, key=lambda it: (-len(it[1].path), _is_for_all(it[0]), str(it[0])), default=None
    )
    if lent is None:
        return mine
    theirs = _read(lent[0])
    return _lent(theirs, mine) if mine else theirs


def url_named(secrets: Iterable[Secret], name: str, project: str) -> str:
    """Find the URL of charts by the name that a Secret gives them; that of the project first."""
    known = [
        (_is_for_all(secret), str(secret), str(url))
        for secret, url in _addressed(secrets, _REPOSITORY)
        if secret.data.get("name") == name
        and secret.data.get("project", "") in ("", project)
        and is_of_charts(secret.data)
    ]
    return min(known)[2] if known else ""


def _lent(theirs: GitCredential, mine: GitCredential) -> GitCredential:
    """Their login, and of our own Secret the way to the server."""
    shown = mine if mine.certificate else theirs
    return replace(
        theirs,
        project=mine.project or theirs.project,
        secrets=(*mine.secrets, *theirs.secrets),
        insecure=mine.insecure,
        is_registry=mine.is_registry,
        lfs=mine.lfs,
        plain_http=mine.plain_http,
        proxy=mine.proxy or theirs.proxy,
        no_proxy=mine.no_proxy or theirs.no_proxy,
        certificate=shown.certificate,
        key=shown.key,
    )


def _addressed(secrets: Iterable[Secret], kind: str) -> list[tuple[Secret, RepositoryUrl]]:
    """With their addresses; one whose address cannot be read serves nobody."""
    found = []
    for secret in secrets:
        if secret.labels.get(SECRET_TYPE) == kind:
            with suppress(RepositoryUrlError):
                found.append((secret, address_of(secret.data)))
    return found


def address_of(data: Mapping[str, str]) -> RepositoryUrl:
    """Read a Secret's address; without a scheme, that of a Helm repository is a registry.

    Raises RepositoryUrlError.
    """
    url = data.get("url", "").strip()
    is_registry = is_of_charts(data) and "://" not in url
    return RepositoryUrl.parse(f"oci://{url}" if is_registry else url)


def is_of_charts(data: Mapping[str, str]) -> bool:
    """Whether a Secret is for charts or artifacts, by its `type` or by `enableOCI`."""
    return data.get("type", "").strip().lower() in _OF_CHARTS or _truth(data, _ENABLE_OCI)


def _is_for_all(secret: Secret) -> bool:
    return not secret.data.get("project")


def problem_of(secret: Secret) -> str:
    """Why a Secret of a repository or a prefix can serve nobody; empty where it can."""
    try:
        address_of(secret.data)
    except RepositoryUrlError as error:
        return f"url: {error}"
    return _read(secret).problem


def _read(secret: Secret) -> GitCredential:
    data = secret.data
    common = GitCredential(
        secret=str(secret),
        secrets=(str(secret),),
        project=data.get("project", ""),
        insecure=any(_truth(data, name) for name in _INSECURE),
        is_registry=_truth(data, _ENABLE_OCI),
        plain_http=_truth(data, _PLAIN_HTTP),
        pass_credentials=_truth(data, _PASS_CREDENTIALS),
        lfs=secret.labels.get(SECRET_TYPE) == _REPOSITORY and _truth(data, _ENABLE_LFS),
        ignored=tuple(name for name in _NOT_ACTED_ON if data.get(name)),
    )
    if _is_ssh(data):
        key = normalised_key(data.get("sshPrivateKey", ""))
        return replace(
            common,
            ssh_key=key,
            proxy=data.get("proxy", ""),
            no_proxy=data.get("noProxy", ""),
            problem=_switch_problem(data) or _ssh_problem(data),
        )
    has_login = bool(data.get("password") or data.get("bearerToken"))
    issuer, problem = (None, "") if has_login else issuer_of(data)
    return replace(
        common,
        username="" if issuer else data.get("username", ""),
        password=data.get("password", ""),
        bearer_token=data.get("bearerToken", ""),
        issuer=issuer,
        proxy=data.get("proxy", ""),
        no_proxy=data.get("noProxy", ""),
        certificate=data.get("tlsClientCertData", ""),
        key=data.get("tlsClientCertKey", ""),
        problem=_switch_problem(data) or problem or _https_problem(data),
    )


def _is_ssh(data: Mapping[str, str]) -> bool:
    try:
        return address_of(data).is_ssh
    except RepositoryUrlError:
        return False


def _truth(data: Mapping[str, str], name: str) -> bool:
    return data.get(name, "").strip().lower() in _TRUE


def _switch_problem(data: Mapping[str, str]) -> str:
    for name in (*_INSECURE, _ENABLE_OCI, _PLAIN_HTTP, _PASS_CREDENTIALS, _ENABLE_LFS):
        if data.get(name, "").strip().lower() not in (*_TRUE, *_FALSE):
            return f"its field {name} is neither true nor false"
    return ""


def _ssh_problem(data: Mapping[str, str]) -> str:
    if problem := ssh_proxy_problem(data.get("proxy", "")):
        return problem
    if data.get("sshPrivateKey"):
        return key_problem(data["sshPrivateKey"])
    if data.get("password") or data.get("bearerToken"):
        return "its URL is one of SSH, where no password counts; store a key as sshPrivateKey"
    return ""


def _https_problem(data: Mapping[str, str]) -> str:
    if data.get("sshPrivateKey") and not (data.get("password") or data.get("bearerToken")):
        return (
            "it holds an SSH key, which opens no https URL; write the URL as ssh://git@host/path, "
            "or store username and password"
        )
    if bool(data.get("tlsClientCertData")) != bool(data.get("tlsClientCertKey")):
        return "of tlsClientCertData and tlsClientCertKey it holds one; a client needs both"
    stored = "".join(data.get(name, "") for name in ("username", "password", "bearerToken"))
    if any(character in stored for character in "\r\n\0"):
        return "its user name, password or token holds a line break; store it without one"
    return ""
