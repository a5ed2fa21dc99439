"""ApplicationWatches follow Applications beyond the control namespace, as the settings say.

Where every pattern of `application.namespaces` is a name, each namespace has a watch of its own,
which needs a right there and nowhere else. Otherwise one watch sees the Applications of the whole
cluster, and those of other namespaces are dropped unread. Without the right nothing is followed,
and the log says which is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from agent.kube.client import KubeClient
from agent.kube.watch import KindWatch, WatchState, WatchTarget
from agent.store.applications import Applications
from agent.store.feeds import applications_of, key_of
from bus.identity import AppKey
from handlers.application.source_namespaces import SourceNamespaces

log = structlog.get_logger()

_EVERYWHERE = "/apis/argoproj.io/v1alpha1/applications"
_UNSETTLED = frozenset({WatchState.LISTING})


@dataclass(slots=True, kw_only=True)
class ApplicationWatches:
    """`run` follows the settings until cancelled; call `changed` when they have changed."""

    client: KubeClient
    applications: Applications
    control_namespace: str
    namespaces: Callable[[], SourceNamespaces]
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the Applications of all namespaces were listed, or cannot be."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def changed(self) -> None:
        self._changed.set()

    async def run(self) -> None:
        while True:
            self._changed.clear()
            await self._follow(self.namespaces())

    async def _follow(self, namespaces: SourceNamespaces) -> None:
        """Follow these namespaces until the settings name others."""
        self.applications.release(lambda key: not self._is_followed(key, namespaces))
        async with asyncio.TaskGroup() as tasks:
            watches = self._watches(namespaces)
            running = [tasks.create_task(one.run(), name="watch Applications") for one in watches]
            await self._until_changed(namespaces)
            for task in running:
                task.cancel()

    async def _until_changed(self, namespaces: SourceNamespaces) -> None:
        while self.namespaces() == namespaces:
            await self._changed.wait()
            self._changed.clear()

    def _watches(self, namespaces: SourceNamespaces) -> Sequence[KindWatch]:
        found: list[KindWatch] = []

        def on_state(state: WatchState, why: str) -> None:
            if state is WatchState.FORBIDDEN:
                log.warning("Applications of other namespaces are not followed", reason=why)
            if all(one.state not in _UNSETTLED for one in found):
                self.settled.set()

        for target, is_in in self._targets(namespaces):
            feed = _NamespacesFeed(self.applications, is_in)
            found.append(KindWatch(self.client, target, feed, on_state))
        if not found:
            self.settled.set()
        return found

    def _targets(
        self, namespaces: SourceNamespaces
    ) -> Sequence[tuple[WatchTarget, Callable[[AppKey], bool]]]:
        if not namespaces.patterns:
            return ()
        if namespaces.names is None:
            everywhere = WatchTarget(name="Application", path=_EVERYWHERE, query={})
            return ((everywhere, lambda key: self._is_elsewhere(key, namespaces)),)
        names = (one for one in namespaces.names if one != self.control_namespace)
        return tuple((applications_of(one), _in_namespace(one)) for one in names)

    def _is_elsewhere(self, key: AppKey, namespaces: SourceNamespaces) -> bool:
        return key.namespace != self.control_namespace and namespaces.follows(key.namespace)

    def _is_followed(self, key: AppKey, namespaces: SourceNamespaces) -> bool:
        return key.namespace == self.control_namespace or namespaces.follows(key.namespace)


def _in_namespace(namespace: str) -> Callable[[AppKey], bool]:
    return lambda key: key.namespace == namespace


@dataclass(slots=True)
class _NamespacesFeed:
    """A sink of the Applications of some namespaces; those of others are as if not there."""

    applications: Applications
    is_in: Callable[[AppKey], bool]
    _seen: set[AppKey] | None = None

    def begin_list(self) -> None:
        self._seen = set()

    def forget_versions(self) -> None:
        self.applications.forget_versions()

    def put(self, raw: bytes) -> None:
        key = key_of(raw)
        if self.is_in(key):
            if self._seen is not None:
                self._seen.add(key)
            self.applications.put_application(raw)

    def remove(self, raw: bytes) -> None:
        key = key_of(raw)
        if self.is_in(key):
            self.applications.remove_application(key)

    def end_list(self, resource_version: str) -> None:  # noqa: ARG002  part of the sink's protocol
        seen, self._seen = self._seen or set(), None
        self.applications.keep_only(seen, self.is_in)
