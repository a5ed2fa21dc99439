"""AnnouncedPolicy: what this agent permits, as its Hello says it, and when that is outdated.

The owner's limits decide all of it but shells, for which `exec.enabled` of `argocd-cm` counts too:
nobody is offered a terminal that would be refused. A change makes the agent connect again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from agent.store.config_maps import PolicyWatch
from agent.subscribers import Subscribers
from handlers.application.argo_settings import ArgoSettings

_SHELLS_SECONDS = 10.0
_LOOK_SECONDS = 0.25


@dataclass(slots=True, kw_only=True)
class AnnouncedPolicy:
    policy: PolicyWatch
    settings: Callable[[], ArgoSettings]
    settings_changes: Subscribers[[]]
    _has_shells: bool = False
    """Whether the last Hello said that there may be shells."""
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def shown(self) -> dict[str, object]:
        """Return what the next Hello says."""
        self._has_shells = self._permits_shells()
        return {**self.policy.now.shown(), "exec": self._has_shells}

    async def run(self, open_shells: Callable[[], int]) -> None:
        """Have the Hello sent again where `exec.enabled` makes another one of it.

        Shells that are open end first, by their own look at the setting: they say why.
        """
        with self.settings_changes.subscribed(self._woken.set):
            while True:
                await self._woken.wait()
                self._woken.clear()
                if self._permits_shells() != self._has_shells:
                    await _until_none(open_shells)
                    self.policy.changed.set()

    def _permits_shells(self) -> bool:
        return self.policy.now.exec and self.settings().exec.enabled


async def _until_none(open_shells: Callable[[], int]) -> None:
    """Return when no shell is open, or after a while."""
    for _ in range(round(_SHELLS_SECONDS / _LOOK_SECONDS)):
        if not open_shells():
            return
        await asyncio.sleep(_LOOK_SECONDS)
