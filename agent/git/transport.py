"""The command line and environment of a fetch, and the files that its credentials need.

A fetch is Git's own program and not libgit2. Measured over loopback HTTP a small push arrives in
37 ms instead of 18; for that it can be killed whatever the server does, speaks protocol v2 and
can ask for a bare commit. It sees an environment that we make: no configuration of the system or
of a user, no prompts, and the credential as a header in the environment, so that it stands in no
argument or URL. Certificates and keys, which `git` takes as files, live in the memory of this
process and are handed to Git as open files, which it and its helpers know by `/dev/fd/N`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from agent.git.credential_files import CredentialFiles, credential_files
from agent.git.credentials import GitCredential
from agent.git.refs import BRANCHES, HEAD, TAGS
from agent.git.ssh import ssh_command
from agent.git.ssh_proxy import proxy_document
from bus.repository_url import RepositoryUrl

_PROTOCOLS = {"ssh": "ssh", "http": "http:https", "https": "http:https"}
"""What Git may speak, by the scheme of the URL."""
ALL_REFS = (f"+{BRANCHES}*:{BRANCHES}*", f"+{TAGS}*:{TAGS}*")
WRITTEN_REFS = (ALL_REFS[0], "+refs/notes/hydrator.*:refs/notes/hydrator.*")
"""What is fetched to be written: branches, and notes of hydrated commits where there are any."""
HEAD_REF = f"+HEAD:{HEAD}"

_PASSED_ON = (
    "PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
)


_NO_FILES = CredentialFiles()


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """One repository as a fetch sees it."""

    url: RepositoryUrl
    credential: GitCredential | None = None
    authority: str = ""
    """Certificates in PEM that the server is trusted by; empty: those of this machine."""
    known_hosts: str = ""
    """Lines of known_hosts(5), by which a host of SSH is believed."""
    socket: str = ""
    """Of the connection of SSH that fetches with this login share; empty: none."""

    use: str = "fetched"
    """What is done with the repository, for messages."""

    @property
    def host(self) -> str:
        return self.url.origin.host

    @property
    def with_suffix(self) -> Remote:
        """The same by its URL with `.git`, as some hosts ask for it."""
        return replace(self, url=self.url.with_suffix)


def fetch_arguments(folder: str, remote: Remote, refspecs: tuple[str, ...]) -> tuple[str, ...]:
    options = ("--quiet", "--prune", "--no-tags", "--no-auto-gc", "--no-write-fetch-head")
    return ("--git-dir", folder, "fetch", *options, "--", str(remote.url), *refspecs)


def push_arguments(folder: str, remote: Remote, refspec: str) -> tuple[str, ...]:
    """Push one ref without force; what a mirror's own hooks would do is not done."""
    options = ("--quiet", "--no-verify", "--no-signed", "--no-follow-tags")
    hooks = ("-c", "core.hooksPath=/dev/null")
    return ("--git-dir", folder, *hooks, "push", *options, "--", str(remote.url), refspec)


def credential_files_of(remote: Remote) -> AbstractContextManager[CredentialFiles]:
    credential = remote.credential or GitCredential()
    if remote.url.is_ssh:
        known = "" if credential.insecure else remote.known_hosts
        proxy = proxy_document(remote.url, credential)
        return credential_files(
            {"ssh_key": credential.ssh_key, "known_hosts": known, "proxy": proxy}
        )
    return credential_files(
        {
            "authority": remote.authority,
            "certificate": credential.certificate,
            "key": credential.key,
        }
    )


def fetch_environment(
    remote: Remote,
    ambient: Mapping[str, str],
    idle_seconds: float,
    shown: CredentialFiles = _NO_FILES,
) -> dict[str, str]:
    """Git gives up by itself after `idle_seconds` without a byte, should we be gone."""
    credential = remote.credential or GitCredential()
    configuration = [*_configuration(idle_seconds), *_of_server(remote, credential, shown)]
    environment = {name: ambient[name] for name in _PASSED_ON if name in ambient}
    environment |= {
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ALLOW_PROTOCOL": _PROTOCOLS.get(remote.url.origin.scheme, "none"),
        "GIT_CONFIG_COUNT": str(len(configuration)),
    }
    if remote.url.is_ssh:
        environment["GIT_SSH_VARIANT"] = "ssh"
        environment["GIT_SSH_COMMAND"] = ssh_command(
            key=shown.ssh_key,
            known_hosts=shown.known_hosts,
            insecure=credential.insecure,
            socket=remote.socket,
            proxy=shown.proxy,
        )
    if shown.authority:
        environment["GIT_SSL_CAINFO"] = shown.authority
    if credential.no_proxy:
        environment |= dict.fromkeys(("no_proxy", "NO_PROXY"), credential.no_proxy)
    for number, (key, value) in enumerate(configuration):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return environment


def _configuration(idle_seconds: float) -> list[tuple[str, str]]:
    """Git's settings for this one run, as pairs: they travel in the environment.

    No redirect is followed, nor an alternate that a server names, which Git treats as one: Git
    would send the header of the credential along to wherever it is sent.
    """
    return [
        ("credential.helper", ""),
        ("fetch.recurseSubmodules", "false"),
        ("http.followRedirects", "false"),
        ("http.lowSpeedLimit", "1"),
        ("http.lowSpeedTime", str(max(1, round(idle_seconds)))),
    ]


def _of_server(
    remote: Remote, credential: GitCredential, shown: CredentialFiles
) -> list[tuple[str, str]]:
    """What holds for requests to this repository's address and for no others."""
    if remote.url.is_ssh:
        return []
    header = credential.authorization
    settings = {
        "extraHeader": f"Authorization: {header}" if header else "",
        "sslVerify": "false" if credential.insecure else "",
        "proxy": credential.proxy,
        "sslCert": shown.certificate,
        "sslKey": shown.key,
    }
    return [(f"http.{remote.url}.{name}", value) for name, value in settings.items() if value]
