"""Keys: who this agent is to the service. Made here, kept in a Secret here, never sent anywhere.

Ed25519 signs what proves that it is us, X25519 opens what was sealed for us. The salt makes
fingerprints of hidden values; it is kept so that they stay the same after a restart.
"""

from __future__ import annotations

import base64
import secrets as randomness
from collections.abc import Mapping

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from nacl.public import PrivateKey


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """Seeds as base64. `next_seed` is a signing key that is on its way to replace the first."""

    signing_seed: str
    sealing_seed: str
    salt: str
    made_at: str = ""
    next_seed: str = ""
    account: str = ""
    agent: str = ""
    key_id: str = ""
    service: str = ""
    """The URL that we are enrolled at."""
    token_hash: str = ""
    """Of the enrolment token that was used: another one may be tried."""

    def __repr__(self) -> str:
        return f"Keys({self.account}/{self.agent} {self.key_id})"

    @property
    def enrolled(self) -> bool:
        return bool(self.key_id)

    @property
    def public_key(self) -> str:
        return public_key_of(self.signing_seed)

    @property
    def sealing_key(self) -> str:
        return _written(bytes(self.opening_key.public_key))

    @property
    def opening_key(self) -> PrivateKey:
        return PrivateKey(_read(self.sealing_seed))

    @property
    def salt_bytes(self) -> bytes:
        return _read(self.salt)

    def sign(self, message: bytes) -> str:
        return _written(
            Ed25519PrivateKey.from_private_bytes(_read(self.signing_seed)).sign(message)
        )


def new_keys(now: str) -> Keys:
    return Keys(
        signing_seed=new_seed(),
        sealing_seed=_written(bytes(PrivateKey.generate())),
        salt=_written(randomness.token_bytes(32)),
        made_at=now,
    )


def new_seed() -> str:
    return _written(Ed25519PrivateKey.generate().private_bytes_raw())


def public_key_of(seed: str) -> str:
    key = Ed25519PrivateKey.from_private_bytes(_read(seed)).public_key()
    return _written(key.public_bytes(Encoding.Raw, PublicFormat.Raw))


def to_secret(keys: Keys) -> dict[str, str]:
    """The `stringData` of the Secret."""
    return {name: value for name, value in msgspec.structs.asdict(keys).items() if value}


def from_secret(data: Mapping[str, str]) -> Keys:
    """Raises ValueError where the Secret does not hold our keys."""
    plain = {name: base64.b64decode(value).decode() for name, value in data.items()}
    return msgspec.convert(plain, Keys)


def _written(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _read(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
