"""The few keys and certificates that servers on loopback need, thrown away with their folder."""

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_VALID = dt.timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority: it signs, and `certificate_file` is what clients trust."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    certificate_file: Path


@dataclass(frozen=True, slots=True)
class KeyPair:
    certificate_file: Path
    key_file: Path


def make_authority(folder: Path) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("playground-ca")
    builder = _builder(name, name, key).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    certificate = builder.sign(key, hashes.SHA256())
    file = folder / "ca.crt"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Authority(key, certificate, file)


def make_serving_pair(authority: Authority, folder: Path, names: tuple[str, ...]) -> KeyPair:
    """For 127.0.0.1 and the given DNS names."""
    hosts = [x509.DNSName(name) for name in ("localhost", *names)]
    addresses = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(_name("kube-apiserver"), authority.certificate.subject, key)
    builder = builder.add_extension(
        x509.SubjectAlternativeName([*hosts, *addresses]), critical=False
    )
    return _write(builder.sign(authority.key, hashes.SHA256()), key, folder / "serving")


def make_client_pair(authority: Authority, folder: Path, user: str, group: str) -> KeyPair:
    """A client that Kubernetes knows as `user` in `group`."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(_name(user, group), authority.certificate.subject, key).add_extension(
        x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
    )
    return _write(builder.sign(authority.key, hashes.SHA256()), key, folder / user)


def serving(
    authority: Authority, folder: Path, *, clients: Authority | None = None
) -> ssl.SSLContext:
    """What a server on loopback speaks TLS with; `clients`: who must have signed its clients."""
    pair = make_serving_pair(authority, folder, ())
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate_file, pair.key_file)
    if clients is not None:
        context.load_verify_locations(clients.certificate_file)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def make_signing_key(file: Path) -> Path:
    """What the API server signs service account tokens with."""
    return _write_key(ec.generate_private_key(ec.SECP256R1()), file)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + _VALID)
    )


def _name(common: str, organisation: str | None = None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organisation is not None:
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation))
    return x509.Name(parts)


def _write(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey, stem: Path) -> KeyPair:
    file = stem.with_suffix(".crt")
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return KeyPair(file, _write_key(key, stem.with_suffix(".key")))


def _write_key(key: ec.EllipticCurvePrivateKey, file: Path) -> Path:
    file.touch(mode=0o600)
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return file
