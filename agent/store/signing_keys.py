"""SigningKeys follows the ConfigMap `argocd-gpg-keys-cm`: whose signatures may prove a commit."""

from __future__ import annotations

from dataclasses import dataclass, field

import structlog

from agent.store.named_config_map import Data, NamedConfigMap
from agent.subscribers import Subscribers
from handlers.trust.signing_trust import KEYS, SigningTrust, signing_trust, unreadable_trust

log = structlog.get_logger()


@dataclass(slots=True)
class SigningKeys:
    """`now` are the trusted keys; none until the ConfigMap is known."""

    now: SigningTrust = field(default_factory=SigningTrust)
    changes: Subscribers[[]] = field(default_factory=Subscribers[[]])
    """Called when the keys have changed."""
    config_map: NamedConfigMap = field(init=False)

    def __post_init__(self) -> None:
        self.config_map = NamedConfigMap(name=KEYS, on_data=self._read, on_refused=self._refused)

    def _read(self, data: Data | None) -> None:
        self._become(signing_trust(data))

    def _refused(self, why: str) -> None:
        log.warning("signing keys cannot be read: no commit is proven", reason=why)
        self._become(unreadable_trust(why))

    def _become(self, trust: SigningTrust) -> None:
        if trust != self.now:
            self.now = trust
            self.changes.notify()
