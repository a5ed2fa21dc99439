"""A failed fetch is classified, with a message that tells a person what to do. Pure.

Git and its libraries say in many words what went wrong; the reason, the remedy and a sentence that
reads the same each time are made of them here. Nothing secret is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.git.issued_logins.issuer import LoginIssueError
from agent.git.ssh_failures import ssh_failure
from agent.git.transport import Remote
from bus.repository_url import RepositoryUrl
from bus.status import Reason
from handlers.application.target_revision import prefix_and_range
from handlers.application.version_range import may_be_range
from handlers.ports import RepositoryError

_LONGEST_CAUSE = 300
_NAMES = "branch, tag or commit"
_FREE_SPACE = (
    "The disk of the agent is full, not the server's: make room in its GITOPS_STATE_DIR, or give "
    "it a larger volume; it is tried again"
)
CERTIFICATES = "argocd-tls-certs-cm"
LOGIN_PLACE = (
    "a Secret of the agent's namespace with this url and the label "
    "argocd.argoproj.io/secret-type: repository"
)
_NO_KEY = f"Store a key that the host knows as sshPrivateKey in {LOGIN_PLACE}"
_CHANGING = re.compile(r" after \d+ ms| CAfile: \S+ CRLfile: \S+| from /dev/fd/\d+")
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
_WANTS_CERTIFICATE = ("alert", "handshake fail", "x.509 key", "client certificate")
"""How OpenSSL and GnuTLS say that a server refused the greeting, or that ours cannot be read."""
_BROKEN_OFF = ("non-properly terminated", "unexpected eof", "reset by peer", "getpeername")
"""A server of TLS 1.3 refuses after the greeting, by going away."""
_DISK_FULL = ("no space left on device", "disk quota exceeded", "no free inodes")
"""Of our own disk: the server is well, and nothing about it needs looking at."""
_ABSENT = ("not found", "does not appear to be a git repository", "returned error: 404")
_REDIRECTED = tuple(f"returned error: {code}" for code in (301, 302, 303, 307, 308))
_REMEDIES = (
    (_REFUSED, "Check user name and password or token of the Secret, and its rights"),
    (_REDIRECTED, "The server sends elsewhere, which is not followed: write that address as URL"),
    (_ABSENT, "Check the URL, and that these credentials may read it"),
    (("not allowed",), "Repositories are read over https, http and ssh only: change the URL"),
)
"""By the words that Git says; the first that fits."""


def has_no_head(complaint: str) -> bool:
    """The remote is empty, or its HEAD names a branch that is not there."""
    return "couldn't find remote ref HEAD" in complaint


def is_redirected(complaint: str) -> bool:
    return any(word in complaint.lower() for word in _REDIRECTED)


def failure(remote: Remote, complaint: str) -> RepositoryError:
    """What to tell a person about a fetch that ended with `complaint`."""
    lowered = complaint.lower()
    if line := _disk_full(complaint):
        return _error(Reason.DISK_FULL, remote, _plain(line), _FREE_SPACE)
    if remote.url.is_ssh and (found := ssh_failure(remote.host, complaint)):
        has_key = remote.credential is not None and bool(remote.credential.ssh_key)
        if found.is_refusal and not has_key:
            cause = found.cause_without_key or found.cause
            return _error(Reason.CREDENTIALS_REFUSED, remote, cause, _NO_KEY)
        refused = found.is_refusal
        reason = Reason.CREDENTIALS_REFUSED if refused else Reason.REPOSITORY_UNREACHABLE
        return _error(reason, remote, found.cause, found.remedy)
    refused = any(word in lowered for word in _REFUSED)
    reason = Reason.CREDENTIALS_REFUSED if refused else Reason.REPOSITORY_UNREACHABLE
    return _error(reason, remote, _cause(remote, complaint), _remedy(remote, lowered))


def push_failure(remote: Remote, complaint: str, ref: str) -> RepositoryError:
    """What to tell a person about a push that the server did not take."""
    line = next((one for one in complaint.splitlines() if "[remote rejected]" in one), "")
    if not line:
        return failure(remote, complaint)
    why = _shown(remote, line.rpartition("(")[2].rstrip(") "))
    cause = f"the server rejects a push to {ref}: {why}"
    remedy = "Let this login push there, past the host's rules for the branch, or name another one"
    return _error(Reason.CREDENTIALS_REFUSED, remote, cause, remedy)


def _remedy(remote: Remote, output: str) -> str:
    def contains(words: tuple[str, ...]) -> bool:
        return any(word in output for word in words)

    if remedy := next((text for words, text in _REMEDIES if contains(words)), ""):
        return remedy
    if contains(_WANTS_CERTIFICATE) or (
        remote.url.origin.scheme == "https" and contains(_BROKEN_OFF)
    ):
        fields = "tlsClientCertData and tlsClientCertKey"
        return f"The server may want a certificate of ours: check {fields} of the Secret"
    if "certificate" in output or "ssl" in output:
        place = f"ConfigMap {CERTIFICATES}, key {remote.host}"
        signer = "if a private authority has signed it, put that authority's certificate into"
        return f"Check the server's certificate; {signer} {place}"
    return "Check that the server is up and can be reached from here; it is tried again"


def overdue(remote: Remote, seconds: float) -> RepositoryError:
    cause = f"no end within {seconds:g} s, given up"
    remedy = "Check the server's load and the way to it; it is tried again"
    return _error(Reason.REPOSITORY_UNREACHABLE, remote, cause, remedy)


def not_made(remote: Remote, complaint: str) -> RepositoryError:
    """What to tell a person about a mirror that cannot be made on the agent's own disk."""
    if _disk_full(complaint):
        return failure(remote, complaint)
    cause = f"its mirror cannot be made: {_plain(complaint)}"
    remedy = "Check that the agent may write in its GITOPS_STATE_DIR; it is tried again"
    return _error(Reason.REPOSITORY_UNREACHABLE, remote, cause, remedy)


def unusable(remote: Remote, problem: str) -> RepositoryError:
    return _error(Reason.CREDENTIALS_REFUSED, remote, problem, "Mend the Secret")


def not_issued(remote: Remote, error: LoginIssueError) -> RepositoryError:
    """What to tell a person about a login that the host of the Secret's key did not issue."""
    reason = Reason.CREDENTIALS_REFUSED if error.refused else Reason.REPOSITORY_UNREACHABLE
    return _error(reason, remote, error.message, error.remedy)


def _error(reason: Reason, remote: Remote, cause: str, remedy: str) -> RepositoryError:
    secret = remote.credential.secret if remote.credential else ""
    who = f"credentials of Secret {secret}" if secret else "no Secret fits this URL"
    message = f"{remote.url} cannot be {remote.use}: {cause} ({who}). {remedy}."
    return RepositoryError(reason, message)


def not_found(url: RepositoryUrl, target: str, names: Sequence[str]) -> RepositoryError:
    """Name a target revision that a repository does not have, and what is there instead."""
    there = f"there are {', '.join(names)}" if names else "the repository is empty"
    prefix, name = prefix_and_range(target)
    wanted = _NAMES
    if may_be_range(name):
        tag = f"tag of the prefix {prefix!r} in the range" if prefix else "tag in the range"
        wanted = f"{tag}, and no branch, tag or commit"
    message = f"{url} has no {wanted} {name or 'HEAD'!r}; {there}"
    return RepositoryError(Reason.REVISION_NOT_FOUND, message)


def _cause(remote: Remote, complaint: str) -> str:
    """Git's own last words, without what must not be shown."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("fatal:", "error:"))]
    text = (errors or lines or ["git said nothing"])[-1]
    return _login_refused(remote) if _WANTS_LOGIN in text else _shown(remote, text)


def _shown(remote: Remote, text: str) -> str:
    for hidden in remote.credential.hidden if remote.credential else ():
        text = text.replace(hidden, "***")
    return _plain(text)


def _disk_full(complaint: str) -> str:
    """The line that says so: Git's last words are about what it could not write because of it."""
    lines = (line.strip() for line in complaint.splitlines())
    return next((one for one in lines if any(word in one.lower() for word in _DISK_FULL)), "")


def _plain(line: str) -> str:
    text = _CHANGING.sub("", line.removeprefix("fatal:").removeprefix("error:").strip())
    return _USER_IN_URL.sub("", text)[:_LONGEST_CAUSE]


def _login_refused(remote: Remote) -> str:
    if remote.credential is None or remote.credential.anonymous:
        return "the server asks for a login"
    return "the server refused this login"
