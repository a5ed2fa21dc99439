"""SigningKeys follows the ConfigMaps that say whose signatures may prove a commit.

Keys of GnuPG stand in `argocd-gpg-keys-cm`, keys of SSH in `gitops-allowed-signers`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.store.named_config_map import Data
from agent.store.named_config_maps import NamedConfigMaps
from agent.subscribers import Subscribers
from handlers.trust.allowed_signers import SIGNERS
from handlers.trust.signing_trust import KEYS, SigningTrust, signing_trust, unreadable_trust


@dataclass(slots=True)
class SigningKeys:
    """`now` are the trusted keys; none until the ConfigMaps are known."""

    now: SigningTrust = field(default_factory=SigningTrust)
    changes: Subscribers[[]] = field(default_factory=Subscribers[[]])
    """Called when the keys have changed."""
    config_maps: NamedConfigMaps = field(init=False)

    def __post_init__(self) -> None:
        self.config_maps = NamedConfigMaps(
            names=(KEYS, SIGNERS),
            unreadable="signing keys cannot be read: they prove no commit",
            on_change=self._decide,
        )

    def _decide(self) -> None:
        """Keys that may not be read any more prove nothing."""
        keys, signers = (self._trusted(name) for name in (KEYS, SIGNERS))
        refused = self.config_maps.refused.items()
        problem = "; ".join(unreadable_trust(name, why) for name, why in refused)
        trust = signing_trust(keys, signers, problem)
        if trust != self.now:
            self.now = trust
            self.changes.notify()

    def _trusted(self, name: str) -> Data:
        refused = name in self.config_maps.refused
        return {} if refused else self.config_maps.last_read(name)
