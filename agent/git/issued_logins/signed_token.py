"""A JSON Web Token signed with an RSA key (RS256), as GitHub and Google take it."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

_SMALLEST_KEY = 2048


class SigningKeyError(ValueError):
    """The key signs nothing; the message says why and quotes nothing of it."""


def signed_token(claims: Mapping[str, str | int], key: str, key_id: str = "") -> str:
    """Sign the claims with a private key in PEM; raises SigningKeyError."""
    header = {"alg": "RS256", "typ": "JWT", **({"kid": key_id} if key_id else {})}
    text = b".".join(_encoded(msgspec.json.encode(part)) for part in (header, claims))
    signature = _read(key).sign(text, PKCS1v15(), SHA256())
    return (text + b"." + _encoded(signature)).decode()


def _read(key: str) -> RSAPrivateKey:
    try:
        found = load_pem_private_key(key.encode(), password=None)
    except TypeError as error:
        raise SigningKeyError("is encrypted; store it without a passphrase") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SigningKeyError("is no private key in PEM") from error
    if not isinstance(found, RSAPrivateKey) or found.key_size < _SMALLEST_KEY:
        raise SigningKeyError(f"is no RSA key of at least {_SMALLEST_KEY} bits")
    return found


def _encoded(content: bytes) -> bytes:
    return urlsafe_b64encode(content).rstrip(b"=")
