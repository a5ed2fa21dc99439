"""SSH signatures, as `ssh-keygen -Y sign` makes them and Git puts them into commits. Pure.

The format is OpenSSH's PROTOCOL.sshsig. A signature names its key, but only who holds a list of
keys can say whose it is: see `allowed_signers`. Keys and signatures are checked by `cryptography`;
here the frames are taken apart. SHA-1 (`ssh-rsa` signatures), small RSA keys and signatures of a
security key that nobody touched prove nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    SECP384R1,
    SECP521R1,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512

_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_MAGIC, _VERSION, _NAMESPACE = b"SSHSIG", 1, b"git"
_DIGESTS: dict[bytes, Callable[[bytes], bytes]] = {
    b"sha256": lambda content: hashlib.sha256(content).digest(),
    b"sha512": lambda content: hashlib.sha512(content).digest(),
}
_CURVES = {
    b"nistp256": (SECP256R1, SHA256),
    b"nistp384": (SECP384R1, SHA384),
    b"nistp521": (SECP521R1, SHA512),
}
_RSA = {b"rsa-sha2-256": SHA256, b"rsa-sha2-512": SHA512}
_SMALLEST_RSA = 2048
_SK_ED25519, _SK_ECDSA = b"sk-ssh-ed25519@openssh.com", b"sk-ecdsa-sha2-nistp256@openssh.com"
_TOUCHED = 0x01


class SshKeyError(ValueError):
    """The bytes are no key or signature of SSH."""


class SshSignature(msgspec.Struct, frozen=True, kw_only=True):
    key: bytes
    namespace: bytes
    reserved: bytes
    digest: bytes
    """Name of the digest."""
    signature: bytes

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` writes it."""
        digest = base64.b64encode(hashlib.sha256(self.key).digest()).decode()
        return f"SHA256:{digest.rstrip('=')}"


class _Reader:
    """Reads the strings and numbers of SSH's wire format, one after the other."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def take(self, count: int) -> bytes:
        found = self._raw[self._at : self._at + count]
        if len(found) != count:
            raise SshKeyError("cut off")
        self._at += count
        return found

    def string(self) -> bytes:
        return self.take(int.from_bytes(self.take(4), "big"))

    def number(self) -> int:
        return int.from_bytes(self.string(), "big", signed=True)

    def end(self) -> None:
        if self._at != len(self._raw):
            raise SshKeyError("more than expected")


def ssh_signature(armoured: bytes) -> SshSignature:
    """Take a signature apart; raises SshKeyError, also for another namespace than Git's."""
    text = armoured.decode("ascii", "replace").strip()
    if not text.startswith(_BEGIN) or not text.endswith(_END):
        raise SshKeyError("no SSH signature")
    try:
        raw = base64.b64decode("".join(text[len(_BEGIN) : -len(_END)].split()), validate=True)
    except binascii.Error as error:
        raise SshKeyError("damaged") from error
    reader = _Reader(raw)
    if reader.take(len(_MAGIC)) != _MAGIC or int.from_bytes(reader.take(4), "big") != _VERSION:
        raise SshKeyError("no SSH signature of version 1")
    found = SshSignature(
        key=reader.string(),
        namespace=reader.string(),
        reserved=reader.string(),
        digest=reader.string(),
        signature=reader.string(),
    )
    reader.end()
    if found.namespace != _NAMESPACE:
        raise SshKeyError("made for something else than Git")
    return found


def ssh_key_type(key: bytes) -> str:
    """The type that a public key says of itself; raises SshKeyError."""
    return _Reader(key).string().decode("ascii", "replace")


def fits(signature: SshSignature, content: bytes) -> bool:
    """Whether the key of the signature made it of this content."""
    digest = _DIGESTS.get(signature.digest)
    if digest is None:
        return False
    parts = (_NAMESPACE, signature.reserved, signature.digest, digest(content))
    signed = _MAGIC + b"".join(len(one).to_bytes(4, "big") + one for one in parts)
    try:
        _verify(_Reader(signature.key), _Reader(signature.signature), signed)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return True


def _verify(key: _Reader, signature: _Reader, signed: bytes) -> None:
    """Raises InvalidSignature, and ValueError for what is no such key or signature."""
    kind, algorithm = key.string(), signature.string()
    if kind == b"ssh-rsa":
        _verify_rsa(key, algorithm, signature.string(), signed)
    elif kind != algorithm:
        raise SshKeyError("signed by another algorithm than that of the key")
    elif kind == b"ssh-ed25519":
        Ed25519PublicKey.from_public_bytes(key.string()).verify(signature.string(), signed)
    elif kind == _SK_ED25519:
        public = Ed25519PublicKey.from_public_bytes(key.string())
        blob, message = _of_security_key(key, signature, signed)
        public.verify(blob, message)
    elif kind == _SK_ECDSA:
        curve, point = key.string(), key.string()
        blob, message = _of_security_key(key, signature, signed)
        _verify_ecdsa(curve, point, blob, message)
    else:
        curve, point = key.string(), key.string()
        if kind != b"ecdsa-sha2-" + curve:
            raise SshKeyError("a type of key that is not known")
        _verify_ecdsa(curve, point, signature.string(), signed)
    key.end()
    signature.end()


def _verify_rsa(key: _Reader, algorithm: bytes, blob: bytes, signed: bytes) -> None:
    exponent, modulus = key.number(), key.number()
    digest = _RSA.get(algorithm)
    if digest is None or modulus.bit_length() < _SMALLEST_RSA:
        raise SshKeyError("SHA-1, or a small key")
    RSAPublicNumbers(exponent, modulus).public_key().verify(blob, signed, PKCS1v15(), digest())


def _verify_ecdsa(curve: bytes, point: bytes, blob: bytes, signed: bytes) -> None:
    if curve not in _CURVES:
        raise SshKeyError("a curve that is not known")
    of_curve, digest = _CURVES[curve]
    numbers = _Reader(blob)
    signature = encode_dss_signature(numbers.number(), numbers.number())
    numbers.end()
    public = EllipticCurvePublicKey.from_encoded_point(of_curve(), point)
    public.verify(signature, signed, ECDSA(digest()))


def _of_security_key(key: _Reader, signature: _Reader, signed: bytes) -> tuple[bytes, bytes]:
    """Signature and content of a FIDO key, which signs its application, flags and counter too."""
    application, blob = key.string(), signature.string()
    flags, counter = signature.take(1), signature.take(4)
    if not flags[0] & _TOUCHED:
        raise SshKeyError("nobody touched the key")
    digest = hashlib.sha256
    return blob, digest(application).digest() + flags + counter + digest(signed).digest()
