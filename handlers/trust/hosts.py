"""Trusted hosts: the TLS certificates and the SSH host keys that Argo CD's ConfigMaps hold. Pure.

`argocd-tls-certs-cm` has a PEM text for each server. `argocd-ssh-known-hosts-cm` has lines in the
format of known_hosts(5); one is identified by its hosts and the type of its key: putting another
key of the same type for the same hosts replaces the line; the others stay.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping
from datetime import UTC

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from bus.link.kinds import CERTIFICATE
from handlers.trust.trusted import Trusted

_ALGORITHMS = (
    (rsa.RSAPublicKey, "rsa"),
    (ec.EllipticCurvePublicKey, "ecdsa"),
    (ed25519.Ed25519PublicKey, "ed25519"),
    (ed448.Ed448PublicKey, "ed448"),
    (dsa.DSAPublicKey, "dsa"),
)


def tls_certificates(data: Mapping[str, str]) -> Iterator[Trusted]:
    """Describe each server's first certificate, with the earliest expiry of all of them."""
    for server, pem in sorted(data.items()):
        yield _described(server, pem)


def certificates_in(pem: str) -> list[x509.Certificate]:
    """Parse PEM; raises ValueError where there is no certificate, or a broken one."""
    return x509.load_pem_x509_certificates(pem.encode())


def _described(server: str, pem: str) -> Trusted:
    named = Trusted(kind=CERTIFICATE.name, name=f"https:{server}", server_name=server, type="https")
    try:
        found = certificates_in(pem)
        first = found[0]
        return Trusted(
            kind=named.kind,
            name=named.name,
            server_name=server,
            type=named.type,
            sub_type=_algorithm(first),
            fingerprint=f"SHA256:{first.fingerprint(SHA256()).hex()}",
            info=first.subject.rfc4514_string(),
            expires_at=min(it.not_valid_after_utc for it in found).astimezone(UTC).isoformat(),
        )
    except ValueError:  # its words may quote what stands there
        problem = "no certificate (PEM) that can be read"
        return Trusted(
            kind=named.kind, name=named.name, server_name=server, type="https", problem=problem
        )


def _algorithm(certificate: x509.Certificate) -> str:
    try:
        key = certificate.public_key()
    except UnsupportedAlgorithm:
        return "unknown"
    return next((word for kind, word in _ALGORITHMS if isinstance(key, kind)), "unknown")


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
        """The name in lists; hashed hosts, and hosts with odd characters, appear as a digest."""
        hosts = self.hosts
        if not _PLAIN.fullmatch(hosts):
            hosts = f"hashed-{hashlib.sha256(hosts.encode()).hexdigest()[:16]}"
        return ":".join(("ssh", f"{self.marker}{hosts}", self.type))


def known_hosts(data: Mapping[str, str]) -> Iterator[Trusted]:
    """Describe each valid line; of lines with the same name the last."""
    found = {line.name: line for _, line in _lines(data.get(FIELD, "")) if line is not None}
    for name, line in sorted(found.items()):
        digest = base64.b64encode(hashlib.sha256(line.key).digest()).decode().rstrip("=")
        yield Trusted(
            kind=CERTIFICATE.name,
            name=name,
            server_name=line.hosts if _PLAIN.fullmatch(line.hosts) else "(hashed)",
            type="ssh",
            sub_type=line.type,
            fingerprint=f"SHA256:{digest}",
            info=line.marker.removeprefix("@"),
        )


def with_lines(before: str, added: str) -> str:
    """Add or replace lines; raises ValueError where a line of `added` is malformed."""
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
    """Yield each line with its parsed form; `whole`: comments and empty lines too."""
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
