"""`argocd-tls-certs-cm`: server name -> PEM of one or more certificates. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from handlers.trust.trusted import CERTIFICATE, Trusted

_ALGORITHMS = (
    (rsa.RSAPublicKey, "rsa"),
    (ec.EllipticCurvePublicKey, "ecdsa"),
    (ed25519.Ed25519PublicKey, "ed25519"),
    (ed448.Ed448PublicKey, "ed448"),
    (dsa.DSAPublicKey, "dsa"),
)


def tls_certificates(data: Mapping[str, str]) -> Iterator[Trusted]:
    """One for each server; of several certificates the first one is described."""
    for server, pem in sorted(data.items()):
        yield _described(server, pem)


def certificates_in(pem: str) -> list[x509.Certificate]:
    """Raises ValueError where there is none, or one that cannot be read."""
    return x509.load_pem_x509_certificates(pem.encode())


def _described(server: str, pem: str) -> Trusted:
    named = Trusted(kind=CERTIFICATE, name=f"https:{server}", server_name=server, type="https")
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
