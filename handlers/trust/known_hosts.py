"""`argocd-ssh-known-hosts-cm`: lines of known_hosts(5), described, merged and taken out. Pure.

A line is known by its hosts and the type of its key: putting another key of the same type for the
same hosts replaces it, and every other line stays.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping

import msgspec

from handlers.trust.trusted import CERTIFICATE, Trusted

FIELD = "ssh_known_hosts"
_PLAIN = re.compile(r"[^\s/|]{1,200}")
_FIELDS = 3


class HostLine(msgspec.Struct, frozen=True, kw_only=True):
    hosts: str
    type: str
    key: bytes
    marker: str = ""
    """`@cert-authority` or `@revoked`."""

    @property
    def name(self) -> str:
        """Hashed hosts, and whatever no name can hold, by a digest of their own."""
        hosts = self.hosts
        if not _PLAIN.fullmatch(hosts):
            hosts = f"hashed-{hashlib.sha256(hosts.encode()).hexdigest()[:16]}"
        return ":".join(("ssh", f"{self.marker}{hosts}", self.type))


def known_hosts(data: Mapping[str, str]) -> Iterator[Trusted]:
    """One for each line that is one; of the same name the last."""
    found = {line.name: line for _, line in _lines(data.get(FIELD, "")) if line is not None}
    for name, line in sorted(found.items()):
        digest = base64.b64encode(hashlib.sha256(line.key).digest()).decode().rstrip("=")
        yield Trusted(
            kind=CERTIFICATE,
            name=name,
            server_name=line.hosts if _PLAIN.fullmatch(line.hosts) else "(hashed)",
            type="ssh",
            sub_type=line.type,
            fingerprint=f"SHA256:{digest}",
            info=line.marker.removeprefix("@"),
        )


def with_lines(before: str, added: str) -> str:
    """Raises ValueError where something of `added` is no line of known_hosts."""
    new = dict(_lines(added))
    if not new or None in new.values():
        raise ValueError("expected lines of known_hosts: hosts, type of the key, key")
    names = {line.name for line in new.values() if line is not None}
    kept = [text for text, line in _lines(before, whole=True) if not line or line.name not in names]
    return "\n".join([*kept, *new]) + "\n"


def without(before: str, name: str) -> str:
    kept = [text for text, line in _lines(before, whole=True) if not line or line.name != name]
    return "\n".join(kept) + "\n" if kept else ""


def _lines(text: str, *, whole: bool = False) -> Iterator[tuple[str, HostLine | None]]:
    """Each line beside what it says; `whole`: comments and empty lines too."""
    for line in text.splitlines():
        plain = line.strip()
        if plain and not plain.startswith("#"):
            yield line, _read(plain)
        elif whole:
            yield line, None


def _read(line: str) -> HostLine | None:
    words = line.split()
    marker = words.pop(0) if words[0].startswith("@") else ""
    if len(words) < _FIELDS:
        return None
    hosts, type_, encoded = words[:_FIELDS]
    try:
        key = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    if not key.startswith(len(type_).to_bytes(4, "big") + type_.encode()):
        return None  # RFC 4253, 6.6: a key blob begins with its type
    return HostLine(hosts=hosts, type=type_, key=key, marker=marker)
