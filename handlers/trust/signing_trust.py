"""SigningTrust: the keys whose signatures may prove a commit, of `argocd-gpg-keys-cm`. Pure.

Which of them may sign for a project is said by the project; a key that is here and in no project
proves nothing. An entry that has a problem (see `gnupg`) is not trusted.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from bus.identity import digest_of
from handlers.trust.gnupg import sound_keys

KEYS = "argocd-gpg-keys-cm"


class SigningTrust(msgspec.Struct, frozen=True):
    keys: tuple[bytes, ...] = ()
    """The public keys in the form of RFC 9580."""
    problem: str = ""
    """Why the keys are not known."""

    @property
    def fingerprint(self) -> str:
        return digest_of(b"".join(self.keys))


def signing_trust(data: Mapping[str, str] | None) -> SigningTrust:
    """Read the ConfigMap; one that does not exist trusts nobody."""
    return SigningTrust(tuple(sound_keys(data or {})))


def unreadable_trust(why: str) -> SigningTrust:
    """Trust nobody, because the ConfigMap may not be read."""
    return SigningTrust(problem=f"the agent may not read the ConfigMap {KEYS}: {why}")
