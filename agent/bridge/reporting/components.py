"""ComponentStates: the health of the agent and of its parts: NATS, the API server and Redis.

Each state is read from the memory of its client when it is asked for. `watch` compares the states
whenever a client announces a change: NATS lost or back, watches interrupted or resumed, Redis away
or back, an alarm of a store, a condition of readiness. The probes of readiness and the values that
the redaction learns announce nothing, so the states are compared every half minute too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from agent.kube.live import LiveCluster
from agent.observe.health import Readiness, StoreWatch
from agent.store.redis_artifacts import RedisArtifacts
from bus.jetstream import Bus
from bus.link.kinds import COMPONENT
from handlers.report.connection_items import ComponentItem
from handlers.report.known_secrets import KnownSecrets

_LOOK_SECONDS = 30.0
API_SERVER = "api-server"
_FINE, _ILL = "Healthy", "Degraded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentStates:
    readiness: Readiness
    known_secrets: KnownSecrets
    buses: tuple[Bus, ...]
    """The connections to NATS, one for each login."""
    store: StoreWatch
    live: LiveCluster
    redis: RedisArtifacts | None
    version: str
    look_seconds: float = _LOOK_SECONDS
    """Seconds between two comparisons while nothing is announced."""

    def __call__(self) -> Mapping[str, ComponentItem]:
        """The current states by name of the component."""
        found = (self._agent(), self._nats(), self._api_server(), *self._redis())
        return {one.name: one for one in found}

    async def watch(self, changed: Callable[[str, str], None]) -> None:
        """Call `changed` with kind and name of each change, until cancelled."""
        announced = asyncio.Event()
        before: Mapping[str, ComponentItem] = {}
        with self._subscribed(announced.set):
            while True:
                announced.clear()
                now = self()
                for name, one in now.items():
                    if before.get(name) != one:
                        changed(COMPONENT.name, name)
                before = now
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.look_seconds):
                        await announced.wait()

    @contextmanager
    def _subscribed(self, announce: Callable[[], None]) -> Iterator[None]:
        """Call `announce` when a client says that its state has changed."""
        clients = (self.readiness, self.store, self.live, self.redis)
        with ExitStack() as stack:
            for client in clients:
                if client is not None:
                    stack.enter_context(client.changes.subscribed(announce))
            for bus in self.buses:
                stack.enter_context(_following(bus, announce))
            yield

    def _agent(self) -> ComponentItem:
        missing = self.readiness.missing()
        words = "; ".join(f"{name}: {why}" for name, why in sorted(missing.items()))
        words = "; ".join(filter(None, (words, self.known_secrets.alarm)))
        return _component("agent", words, self.version)

    def _nats(self) -> ComponentItem:
        away = "" if self._is_connected else "unreachable; the agent reconnects by itself"
        return _component("nats", away or self.store.alarm)

    @property
    def _is_connected(self) -> bool:
        return all(bus.is_connected for bus in self.buses)

    def _api_server(self) -> ComponentItem:
        stale = "watches are interrupted: the live state is out of date"
        words = stale if self.live.interrupted else ""
        return _component(API_SERVER, words, self.live.kube_version())

    def _redis(self) -> tuple[ComponentItem, ...]:
        shared = self.redis
        if shared is None:
            return ()
        return (
            _component("redis", "unreachable; artifacts are kept on disk" if shared.away else ""),
        )


@contextmanager
def _following(bus: Bus, announce: Callable[[], None]) -> Iterator[None]:
    """Call `announce` when the connection to NATS is lost, and when it is back."""

    async def back() -> None:
        announce()

    connection = bus.connection
    connection.on_lost.append(announce)
    connection.on_back.append(back)
    try:
        yield
    finally:
        connection.on_lost.remove(announce)
        connection.forget(back)


def _component(name: str, message: str, version: str = "") -> ComponentItem:
    status = _ILL if message else _FINE
    return ComponentItem(name=name, status=status, message=message, version=version)
