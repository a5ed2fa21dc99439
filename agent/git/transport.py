"""The command line and environment of a fetch, and what its failure means. Pure.

A fetch is Git's own program and not libgit2. Measured over loopback HTTP a small push arrives in
37 ms instead of 18; for that it can be killed whatever the server does, speaks protocol v2 and
can ask for a bare commit. It sees an environment that we make: no configuration of the system or
of a user, no prompts, and the credential as a header in the environment, so that it stands in no
argument, URL or file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent.git.credentials import Credential
from agent.git.refs import BRANCHES, HEAD, TAGS
from bus.status import Reason
from handlers.ports import RepositoryError

PROTOCOLS = "http:https"
ALL_REFS = (f"+{BRANCHES}*:{BRANCHES}*", f"+{TAGS}*:{TAGS}*")
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
_LONGEST_CAUSE = 300
_CHANGING = re.compile(r" after \d+ ms")
"""The same cause must read the same each time, or every try is news to the Application."""
_USER_IN_URL = re.compile(r"(?<=://)[^/@\s]+@")
_REFUSED = (
    "authentication failed",
    "could not read username",
    "could not read password",
    "invalid credentials",
    "returned error: 401",
    "returned error: 403",
)
_WANTS_LOGIN = "terminal prompts disabled"
"""Git's word for a 401, also where the login that was refused came from us."""
_ABSENT = ("not found", "does not appear to be a git repository", "returned error: 404")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """One repository as a fetch sees it: `url` holds no user information."""

    url: str
    credential: Credential | None = None


def fetch_arguments(folder: str, remote: Remote, refspecs: tuple[str, ...]) -> tuple[str, ...]:
    options = ("--quiet", "--prune", "--no-tags", "--no-auto-gc", "--no-write-fetch-head")
    return ("--git-dir", folder, "fetch", *options, "--", remote.url, *refspecs)


def fetch_environment(remote: Remote, ambient: Mapping[str, str], silence: float) -> dict[str, str]:
    """`silence`: seconds without a byte after which Git gives up by itself, should we be gone."""
    configuration = _configuration(remote.credential or Credential(), silence)
    environment = {name: ambient[name] for name in _PASSED_ON if name in ambient}
    environment |= {
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ALLOW_PROTOCOL": PROTOCOLS,
        "GIT_CONFIG_COUNT": str(len(configuration)),
    }
    for number, (key, value) in enumerate(configuration):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return environment


def _configuration(credential: Credential, silence: float) -> list[tuple[str, str]]:
    """Git's settings for this one run, as pairs: they travel in the environment."""
    settings = [
        ("credential.helper", ""),
        ("fetch.recurseSubmodules", "false"),
        ("http.lowSpeedLimit", "1"),
        ("http.lowSpeedTime", str(max(1, round(silence)))),
    ]
    if credential.authorization:
        settings.append(("http.extraHeader", f"Authorization: {credential.authorization}"))
    if credential.insecure:
        settings.append(("http.sslVerify", "false"))
    if credential.proxy:
        settings.append(("http.proxy", credential.proxy))
    return settings


def has_no_head(complaint: str) -> bool:
    """The remote is empty, or its HEAD names a branch that is not there."""
    return "couldn't find remote ref HEAD" in complaint


def failure(remote: Remote, complaint: str) -> RepositoryError:
    """What to tell a person about a fetch that ended with `complaint`."""
    cause = _cause(remote, complaint)
    lowered = complaint.lower()
    if any(word in lowered for word in _REFUSED):
        remedy = "Check user name and password or token of the Secret, and its rights"
        return _error(Reason.CREDENTIALS_REFUSED, remote, cause, remedy)
    if any(word in lowered for word in _ABSENT):
        remedy = "Check the URL, and that these credentials may read it"
    elif "not allowed" in lowered:
        remedy = "This version reads repositories over https (or http) only: change the URL"
    elif "certificate" in lowered or "ssl" in lowered:
        remedy = "Check the server's certificate: its authority must be trusted here"
    else:
        remedy = "Check that the server is up and can be reached from here; it is tried again"
    return _error(Reason.REPOSITORY_UNREACHABLE, remote, cause, remedy)


def overdue(remote: Remote, seconds: float) -> RepositoryError:
    cause = f"no end within {seconds:g} s, given up"
    remedy = "Check the server's load and the way to it; it is tried again"
    return _error(Reason.REPOSITORY_UNREACHABLE, remote, cause, remedy)


def unusable(remote: Remote, problem: str) -> RepositoryError:
    return _error(Reason.CREDENTIALS_REFUSED, remote, problem, "Mend the Secret")


def _error(reason: Reason, remote: Remote, cause: str, remedy: str) -> RepositoryError:
    secret = remote.credential.secret if remote.credential else ""
    who = f"credentials of Secret {secret}" if secret else "no Secret fits this URL"
    return RepositoryError(reason, f"{remote.url} cannot be fetched: {cause} ({who}). {remedy}.")


def _cause(remote: Remote, complaint: str) -> str:
    """Git's own last words, without what must not be shown."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "error:"))]
    text = (told or lines or ["git said nothing"])[-1]
    for hidden in remote.credential.hidden if remote.credential else ():
        text = text.replace(hidden, "***")
    if _WANTS_LOGIN in text:
        return _login_refused(remote)
    text = _CHANGING.sub("", text.removeprefix("fatal:").removeprefix("error:").strip())
    text = _USER_IN_URL.sub("", text)
    return text[:_LONGEST_CAUSE]


def _login_refused(remote: Remote) -> str:
    if remote.credential is None or remote.credential.anonymous:
        return "the server asks for a login"
    return "the server refused this login"
