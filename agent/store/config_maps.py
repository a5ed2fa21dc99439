"""The ConfigMaps that configure the agent: Argo CD's settings, and the policy of the owner.

Each value holds the current content, and calls its subscribers when that has changed. Where a
ConfigMap may not be read, the log says so, and the default holds: Argo CD's own, and of the service
nothing but reads.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import msgspec
import structlog

from agent.store.named_config_map import Data, NamedConfigMap
from agent.store.named_config_maps import NamedConfigMaps
from agent.subscribers import Subscribers
from handlers.application.argo_parameters import PARAMETERS, unreadable_config_map
from handlers.application.argo_settings import CONFIG_MAP, ArgoSettings, read_settings
from handlers.control_plane.policy import CONFIG_MAP as POLICY
from handlers.control_plane.policy import ControlPlanePolicy, read_policy

log = structlog.get_logger()

_UNREADABLE = ControlPlanePolicy(read_only=True, problem="the agent may not read ConfigMaps here")


@dataclass(slots=True)
class ArgoSettingsWatch:
    """Follows Argo CD's settings, the ConfigMaps `argocd-cm` and `argocd-cmd-params-cm`.

    An installation without Argo CD has neither.

    `now` holds the current settings of both ConfigMaps; `argocd-cm` that may not be read holds
    automated syncs, because it may exclude objects or ask for impersonation.
    """

    now: ArgoSettings = field(default_factory=ArgoSettings)
    changes: Subscribers[[]] = field(default_factory=Subscribers[[]])
    """Called when the settings have changed."""
    config_maps: NamedConfigMaps = field(init=False)

    def __post_init__(self) -> None:
        self.config_maps = NamedConfigMaps(
            names=(CONFIG_MAP, PARAMETERS),
            unreadable="settings of Argo CD cannot be read: what was read last holds",
            on_change=self._decide,
        )

    def _decide(self) -> None:
        """Go on with what was read last; exclusions that it may have are not known."""
        read = self.config_maps.last_read
        before, settings = self.now, read_settings(read(CONFIG_MAP), read(PARAMETERS))
        refused = (
            unreadable_config_map(name, why, harmful=name == CONFIG_MAP)
            for name, why in self.config_maps.refused.items()
        )
        unsupported = (*settings.unsupported, *refused)
        settings = msgspec.structs.replace(settings, unsupported=unsupported)
        if settings == before:
            return
        self.now = settings
        for one in settings.unsupported:
            if one not in before.unsupported:
                log.warning("setting of Argo CD not acted on", field=one.field, why=one.consequence)
        self.changes.notify()


@dataclass(slots=True)
class PolicyWatch:
    """Follows the control plane's policy, the ConfigMap `gitops-agent-limits`.

    `now` is the current policy; until the ConfigMap is known, the default one.
    """

    now: ControlPlanePolicy = field(default_factory=lambda: read_policy(None))
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    changes: Subscribers[[]] = field(default_factory=Subscribers[[]])
    """Called when the policy has changed."""
    config_map: NamedConfigMap = field(init=False)

    def __post_init__(self) -> None:
        self.config_map = NamedConfigMap(name=POLICY, on_data=self._read, on_refused=self._refused)

    def _read(self, data: Data | None) -> None:
        self._replace(read_policy(data))

    def _refused(self, why: str) -> None:
        """Permit no write of the service, because the policy cannot be read."""
        log.warning("policy cannot be read: nothing of the link is written", reason=why)
        self._replace(_UNREADABLE)

    def _replace(self, policy: ControlPlanePolicy) -> None:
        if policy == self.now:
            return
        self.now = policy
        self.changed.set()
        self.changes.notify()
        if policy.problem:
            log.warning("policy cannot be understood", problem=policy.problem)
