"""The signature of a commit or an annotated tag, checked. Pure."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from handlers.trust.allowed_signers import AllowedSigner


class SignatureState(StrEnum):
    """What became of the check of one signature, in words."""

    GOOD = "good"
    UNSIGNED = "not signed"
    BAD = "bad signature: its content was changed after it was signed"
    EXPIRED = "expired signature"
    KEY_EXPIRED = "signed with an expired key"
    KEY_REVOKED = "signed with a revoked key"
    KEY_UNKNOWN = "signed with a key that the agent does not know"
    WEAK = "signed by way of a broken digest (SHA-1 or older)"
    UNREADABLE = "signature that cannot be read"
    RENAMED = "tag that was made under another name"


class SignatureCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The signature of one commit or annotated tag, checked; whether its key may sign is open."""

    id: str
    tag: str = ""
    """Name of the tag; empty for a commit."""
    author: str = ""
    """As written in the object, nothing masked."""
    state: SignatureState
    key: str = ""
    """Fingerprint of the key that signed, or its id where no more is known; upper case."""
    primary: str = ""
    """Fingerprint of the primary key, where a subkey signed."""
    principals: tuple[AllowedSigner, ...] = ()
    """The lines of allowed signers that have the key of a good SSH signature."""
    until: float = 0.0
    """When a good signature or its key expires, in seconds of the epoch; 0 for never."""
