"""SigningKeys follows the ConfigMaps that say whose signatures may prove a commit.

Keys of GnuPG stand in `argocd-gpg-keys-cm`, keys of SSH in `gitops-allowed-signers`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import structlog

from agent.store.named_config_map import Data, NamedConfigMap
from agent.subscribers import Subscribers
from handlers.trust.allowed_signers import SIGNERS
from handlers.trust.signing_trust import KEYS, SigningTrust, signing_trust, unreadable_trust

log = structlog.get_logger()


@dataclass(slots=True)
class SigningKeys:
    """`now` are the trusted keys; none until the ConfigMaps are known."""

    now: SigningTrust = field(default_factory=SigningTrust)
    changes: Subscribers[[]] = field(default_factory=Subscribers[[]])
    """Called when the keys have changed."""
    config_maps: tuple[NamedConfigMap, ...] = field(init=False)
    _written: dict[str, Data] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.config_maps = tuple(
            NamedConfigMap(
                name=name, on_data=partial(self._read, name), on_refused=partial(self._refuse, name)
            )
            for name in (KEYS, SIGNERS)
        )

    async def known(self) -> None:
        """Wait until the content of both ConfigMaps is known."""
        for config_map in self.config_maps:
            await config_map.known.wait()

    def _read(self, name: str, data: Data | None) -> None:
        self._written[name] = data or {}
        self._refused.pop(name, None)
        self._decide()

    def _refuse(self, name: str, why: str) -> None:
        log.warning("signing keys cannot be read: they prove no commit", name=name, reason=why)
        self._written.pop(name, None)
        self._refused[name] = unreadable_trust(name, why)
        self._decide()

    def _decide(self) -> None:
        keys, signers = (self._written.get(name) for name in (KEYS, SIGNERS))
        trust = signing_trust(keys, signers, "; ".join(self._refused.values()))
        if trust != self.now:
            self.now = trust
            self.changes.notify()
