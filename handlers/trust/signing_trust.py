"""SigningTrust: the keys whose signatures may prove a commit. Pure.

Keys of GnuPG are those of `argocd-gpg-keys-cm`, keys of SSH those of `gitops-allowed-signers`.
Which of them may sign for a project is said by the project; a key that is here and in no project
proves nothing. An entry that has a problem (see `gnupg` and `allowed_signers`) is not trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from bus.identity import digest_of
from handlers.trust.allowed_signers import AllowedSigner, allowed_signers
from handlers.trust.gnupg import sound_keys

KEYS = "argocd-gpg-keys-cm"
_NAMED = 3


class SigningTrust(msgspec.Struct, frozen=True):
    keys: tuple[bytes, ...] = ()
    """The public keys in the form of RFC 9580."""
    signers: tuple[AllowedSigner, ...] = ()
    problem: str = ""
    """Why keys are not known."""

    @property
    def fingerprint(self) -> str:
        return _fingerprint(self.keys, self.signers)


def signing_trust(
    keys: Mapping[str, str] | None, signers: Mapping[str, str] | None = None, problem: str = ""
) -> SigningTrust:
    """Read the two ConfigMaps; one that does not exist trusts nobody."""
    allowed, problems = allowed_signers(signers or {})
    return SigningTrust(
        keys=tuple(sound_keys(keys or {})),
        signers=allowed,
        problem="; ".join((problem, *problems[:_NAMED]) if problem else problems[:_NAMED]),
    )


def unreadable_trust(config_map: str, why: str) -> str:
    """Say why nobody of a ConfigMap is trusted."""
    return f"the agent may not read the ConfigMap {config_map}: {why}"


@lru_cache(maxsize=4)
def _fingerprint(keys: tuple[bytes, ...], signers: tuple[AllowedSigner, ...]) -> str:
    """Hash the keys once: it is asked for with each commit of a history."""
    return digest_of(msgspec.json.encode((keys, signers)))
