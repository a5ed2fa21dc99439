"""The ConfigMaps that configure the agent: Argo CD's settings, and the policy of the owner.

Each value holds the current content, and calls its subscribers when that has changed. Where a
ConfigMap may not be read, the log says so, and the default holds: Argo CD's own, and of the service
nothing but reads.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial

import msgspec
import structlog

from agent.store.named_config_map import Data, NamedConfigMap
from agent.subscribers import Subscribers
from handlers.application.argo_parameters import PARAMETERS, unreadable_config_map
from handlers.application.argo_settings import CONFIG_MAP, ArgoSettings, read_settings
from handlers.application.unsupported import Unsupported
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
    config_maps: tuple[NamedConfigMap, ...] = field(init=False)
    _written: dict[str, Data] = field(default_factory=dict)
    _refused: dict[str, Unsupported] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.config_maps = tuple(
            NamedConfigMap(
                name=name,
                on_data=partial(self._read, name),
                on_refused=partial(self._refuse, name),
            )
            for name in (CONFIG_MAP, PARAMETERS)
        )

    async def known(self) -> None:
        """Wait until the content of each ConfigMap is known."""
        for config_map in self.config_maps:
            await config_map.known.wait()

    def _read(self, name: str, data: Data | None) -> None:
        self._written[name] = data or {}
        self._refused.pop(name, None)
        self._decide()

    def _refuse(self, name: str, why: str) -> None:
        """Go on with what was read last; exclusions that it may have are not known."""
        harmful = name == CONFIG_MAP
        self._refused[name] = unreadable_config_map(name, why, harmful=harmful)
        self._decide()

    def _decide(self) -> None:
        before, settings = self.now, read_settings(self._data(CONFIG_MAP), self._data(PARAMETERS))
        unsupported = (*settings.unsupported, *self._refused.values())
        settings = msgspec.structs.replace(settings, unsupported=unsupported)
        if settings == before:
            return
        self.now = settings
        for one in settings.unsupported:
            if one not in before.unsupported:
                log.warning("setting of Argo CD not acted on", field=one.field, why=one.consequence)
        self.changes.notify()

    def _data(self, name: str) -> Data:
        return self._written.get(name, {})


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
