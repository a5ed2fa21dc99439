"""Components: what this agent stands on, and how it is: itself, NATS, the API server, Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agent.parts import Parts
from handlers.report.items import COMPONENT, Component

_LOOK_SECONDS = 5.0
API_SERVER = "api-server"
_FINE, _ILL = "Healthy", "Degraded"


@dataclass(frozen=True, slots=True)
class Components:
    parts: Parts
    version: str

    def __call__(self) -> Mapping[str, Component]:
        """By name, as they are now; answers from memory."""
        found = (self._agent(), self._nats(), self._api_server(), *self._redis())
        return {one.name: one for one in found}

    async def watch(self, changed: Callable[[str, str], None]) -> None:
        """For ever: `changed` is called with kind and name."""
        before: Mapping[str, Component] = {}
        while True:
            now = self()
            for name, one in now.items():
                if before.get(name) != one:
                    changed(COMPONENT, name)
            before = now
            await asyncio.sleep(_LOOK_SECONDS)

    def _agent(self) -> Component:
        missing = self.parts.readiness.missing()
        words = "; ".join(f"{name}: {why}" for name, why in sorted(missing.items()))
        words = "; ".join(filter(None, (words, self.parts.known_secrets.alarm)))
        return _component("agent", words, self.version)

    def _nats(self) -> Component:
        away = "" if self._is_connected else "away; the agent reconnects by itself"
        return _component("nats", away or self.parts.store.alarm)

    @property
    def _is_connected(self) -> bool:
        return self.parts.bus.is_connected and self.parts.bridge_bus.is_connected

    def _api_server(self) -> Component:
        stale = "watches are interrupted: the live state is of the past"
        words = stale if self.parts.live.interrupted else ""
        return _component(API_SERVER, words, self.parts.live.kube_version())

    def _redis(self) -> tuple[Component, ...]:
        shared = self.parts.redis
        if shared is None:
            return ()
        return (_component("redis", "away; artifacts are kept on disk" if shared.away else ""),)


def _component(name: str, message: str, version: str = "") -> Component:
    status = _ILL if message else _FINE
    return Component(name=name, status=status, message=message, version=version)
