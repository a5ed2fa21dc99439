"""What SSH says when a fetch fails, as cause and remedy. Pure.

Its words come from OpenSSH's client, in English because the environment asks for it. The key that
a host shows is public; a line of the known hosts is named by its number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.git.ssh_proxy import failure_of_proxy

KNOWN_HOSTS = "argocd-ssh-known-hosts-cm"
_PLACE = f"ssh_known_hosts of ConfigMap {KNOWN_HOSTS}"
_CHANGED = "REMOTE HOST IDENTIFICATION HAS CHANGED"
_REVOKED = "REVOKED HOST KEY DETECTED"
_SHOWN = re.compile(
    r"fingerprint for the (\S{1,40}) key sent by the remote host is\s+(\S{1,100}?)\.?\s"
)
_OFFENDING = re.compile(r"Offending \S+ key in \S+:(\d+)")
_UNKNOWN = re.compile(r"No (?:matching )?(\S{1,40}) host key is known for (\S{1,300}) and")
_OWN_WORDS = re.compile(r"^ssh: (.{1,200}?)\.?\s*$", re.MULTILINE)
_UNVERIFIED = "Host key verification failed"


@dataclass(frozen=True, slots=True)
class SshFailure:
    cause: str
    remedy: str
    is_refusal: bool = False
    """The host refused the key, or would not say whether the repository is there."""
    cause_without_key: str = ""
    """The cause where no key was offered; empty: the same."""


_FAILURES = (
    (
        ("cannot run ssh", "ssh: not found", "ssh: no such file"),
        SshFailure("the program ssh is missing", "Install OpenSSH's client beside the agent"),
    ),
    (
        ("no user exists for uid",),
        SshFailure(
            "ssh runs only for a user whom the system knows, and the agent's number has no name",
            "Run the agent as the user of its image (10001), or give its number a name",
        ),
    ),
    (
        ("error in libcrypto", "invalid format", "incorrect passphrase"),
        SshFailure(
            "SSH cannot read the key",
            "Store a private key without a passphrase, in the format of OpenSSH or PEM",
            is_refusal=True,
        ),
    ),
    (
        ("permission denied", "too many authentication failures"),
        SshFailure(
            "the host refused this key",
            "Check that the host has its public key, with the right to read this repository",
            is_refusal=True,
            cause_without_key="the host wants a key, and none is stored as sshPrivateKey",
        ),
    ),
    (
        ("repository not found", "does not appear to be a git repository", "does not exist"),
        SshFailure(
            "the host shows no repository there",
            "Check the URL, and that this key may read it",
            is_refusal=True,
        ),
    ),
)
"""By words of the complaint in lower case; the first that fits."""


def ssh_failure(host: str, complaint: str) -> SshFailure | None:
    """Explain a complaint; None where its words say no more than those of any other transport."""
    if cause := failure_of_proxy(complaint):
        return SshFailure(
            cause, "Check its field proxy (SOCKS5, or http://host:port), and the rules of the proxy"
        )
    if found := _of_host_key(host, complaint):
        return found
    lowered = complaint.lower()
    fitting = (one for words, one in _FAILURES if any(word in lowered for word in words))
    return next(fitting, None) or _unreachable(complaint)


def _unreachable(complaint: str) -> SshFailure | None:
    """In SSH's own words: Git's say only that it could not read."""
    found = _OWN_WORDS.search(complaint)
    if found is None:
        return None
    return SshFailure(
        found[1], "Check that the host is up and can be reached from here; it is tried again"
    )


def _of_host_key(host: str, complaint: str) -> SshFailure | None:
    shown = _SHOWN.search(complaint)
    presented = f"the {shown[1]} key {shown[2]}" if shown else "another key"
    if _REVOKED in complaint:
        return SshFailure(
            f"{host} shows a host key that {_PLACE} revokes",
            "Do not go on before the owner of the host has explained why it is used again",
        )
    if _CHANGED in complaint:
        line = _OFFENDING.search(complaint)
        place = f"line {line[1]} of {_PLACE}" if line else _PLACE
        return SshFailure(
            f"the host key of {host} has changed: it shows {presented}, and {place} has another",
            "Somebody may stand in between: ask the owner of the host for its key, "
            f"and replace {place} only if it is this one",
        )
    if unknown := _UNKNOWN.search(complaint):
        return SshFailure(
            f"no {unknown[1]} host key is known for {_named(host, unknown[2])}",
            f"Put the line of its host key into {_PLACE}, as `ssh-keyscan` prints it, "
            "after the owner of the host has confirmed it",
        )
    if _UNVERIFIED in complaint:
        return SshFailure(
            f"{host} shows a host key that is not known",
            f"Put the line of its host key into {_PLACE}",
        )
    return None


def _named(host: str, shown: str) -> str:
    """Name the host as known hosts do: with its port, but no other host.

    A host writes on the same standard error, and would have people trust another one.
    """
    is_own = re.fullmatch(rf"\[{re.escape(host)}\]:\d{{1,5}}", shown.lower())
    return shown if is_own else host
