"""The check of an SSH signature against the allowed signers. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from handlers.trust.allowed_signers import AllowedSigner
from handlers.trust.signature import SignatureCheck, SignatureState
from handlers.trust.signed_object import SignedObject
from handlers.trust.ssh_signature import SshKeyError, fits, ssh_signature


def checked_ssh(
    about: SignatureCheck, signed: SignedObject, signers: Sequence[AllowedSigner], now: float
) -> SignatureCheck:
    """Check the signature of an object; a key counts while its line is valid, not when it signed.

    The time of a commit is written by whoever makes it, so a key that was taken out of use would
    sign for ever, with an earlier time.
    """
    try:
        signature = ssh_signature(signed.signature)
    except SshKeyError:
        return replace(about, state=SignatureState.UNREADABLE)
    about = replace(about, key=signature.fingerprint)
    if not fits(signature, signed.payload):
        return replace(about, state=SignatureState.BAD)
    known = [one for one in signers if one.key == signature.key]
    valid = tuple(one for one in known if one.begins <= now and not 0 < one.ends <= now)
    if not valid:
        state = SignatureState.KEY_EXPIRED if known else SignatureState.KEY_UNKNOWN
        return replace(about, state=state)
    ends = [one.ends for one in valid if one.ends]
    return replace(about, state=SignatureState.GOOD, principals=valid, until=min(ends, default=0.0))
