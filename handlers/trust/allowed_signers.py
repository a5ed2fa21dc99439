"""Allowed signers: whose SSH keys may sign commits, in the form of ssh-keygen(1). Pure.

The ConfigMap `gitops-allowed-signers` has the lines in its key `allowed_signers`: principals, then
options, then the key, as `alice@example.com namespaces="git" ssh-ed25519 AAAA...`. Which principals
may sign for a project is said by the project. A line that is not understood trusts nobody.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import msgspec

from handlers.trust.ssh_signature import SshKeyError, ssh_key_type

SIGNERS = "gitops-allowed-signers"
FIELD = "allowed_signers"
_MOST = 5_000
_NAMESPACE = "git"
_WORD = re.compile(r'(?:[^\s"]|"[^"]*")+')
_OPTION = re.compile(r'(?P<name>[a-z-]+)(?:="(?P<value>[^"]*)")?', re.IGNORECASE)
_TIMES = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}


class AllowedSigner(msgspec.Struct, frozen=True, kw_only=True):
    """A line: the key, and who it is."""

    principals: tuple[str, ...]
    """Patterns with `*`, `?` and a leading `!`."""
    key: bytes
    begins: float = 0.0
    """Seconds of the epoch; 0 for always."""
    ends: float = 0.0
    """Likewise; 0 for never."""

    def is_of(self, principal: str) -> bool:
        """Whether the line is for this principal; a pattern with `!` denies."""
        names = (one.removeprefix("!") for one in self.principals if one.startswith("!"))
        if any(_matches(one, principal) for one in names):
            return False
        return any(_matches(one, principal) for one in self.principals if one[:1] != "!")


def allowed_signers(data: Mapping[str, str]) -> tuple[tuple[AllowedSigner, ...], tuple[str, ...]]:
    """Read the lines, and what is wrong with those that are passed over."""
    found, problems = list[AllowedSigner](), list[str]()
    for number, line in enumerate(data.get(FIELD, "").split("\n")[:_MOST], 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            signer = _signer(text)
        except ValueError as error:
            problems.append(f"line {number} of {FIELD} in the ConfigMap {SIGNERS}: {error}")
        else:
            found += [signer] if signer is not None else []
    return tuple(found), tuple(problems)


def _signer(line: str) -> AllowedSigner | None:
    """Read a line; None where it is for other namespaces than Git's."""
    words = _WORD.findall(line)
    if len(words) < 3:
        raise ValueError("expected principals, a type of key and a key")
    at = next((place for place in (1, 2) if _is_type(words, place)), 0)
    if not at:
        raise ValueError("expected `ssh-ed25519`, `ecdsa-sha2-…`, `ssh-rsa` or an `sk-` type")
    options = dict(_options(words[1])) if at == 2 else {}
    namespaces = options.get("namespaces", _NAMESPACE).split(",")
    if not any(_matches(one, _NAMESPACE) for one in namespaces):
        return None
    return AllowedSigner(
        principals=tuple(one for one in words[0].strip('"').split(",") if one),
        key=_key(words[at], words[at + 1]),
        begins=_time(options.get("valid-after", "")),
        ends=_time(options.get("valid-before", "")),
    )


def _is_type(words: list[str], place: int) -> bool:
    return len(words) > place + 1 and words[place].startswith(("ssh-", "ecdsa-", "sk-"))


def _options(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        found = _OPTION.match(text, at)
        if found is None or found["name"].lower() not in (
            "namespaces",
            "valid-after",
            "valid-before",
        ):
            raise ValueError(
                "the options namespaces, valid-after and valid-before are understood, and no other"
            )
        yield found["name"].lower(), found["value"] or ""
        at = found.end() + 1


def _key(kind: str, text: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
        if ssh_key_type(key) != kind:
            raise ValueError("the key is of another type than the line says")
    except (binascii.Error, SshKeyError) as error:
        raise ValueError("the key is cut off or damaged") from error
    return key


def _time(text: str) -> float:
    """Read `YYYYMMDD[HHMM[SS]][Z]`, here always in UTC."""
    digits = text.upper().removesuffix("Z")
    if not digits:
        return 0.0
    form = _TIMES.get(len(digits))
    if form is None:
        raise ValueError(f"the time {text!r} has not the form YYYYMMDD[HHMM[SS]]Z")
    return datetime.strptime(digits, form).replace(tzinfo=UTC).timestamp()


def _matches(pattern: str, text: str) -> bool:
    pieces = (".*" if one == "*" else "." if one == "?" else re.escape(one) for one in pattern)
    return re.fullmatch("".join(pieces), text, re.DOTALL) is not None
