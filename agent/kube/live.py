"""The live state of a cluster: one watch per kind, kinds that come and go, and the index they fill.

`run` owns every task. Discovery is looked at again when a CustomResourceDefinition or APIService
changes (not by the clock), when a watch finds its kind gone, and when a room asks. A kind that we
may not list is skipped with one warning and holds up nobody. A kind is given up only where
discovery and its own watch agree that it is gone: a group whose server is down must not look as if
all its objects were deleted.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from dataclasses import dataclass, field

import structlog

from agent.kube.client import KubeClient
from agent.kube.discovery import Discovered, discover
from agent.kube.index import LiveIndex, Scope
from agent.kube.paths import collection
from agent.kube.sink import IndexSink
from agent.kube.watch import KindWatch, State, Subject
from bus.identity import AppKey, ResourceKey
from bus.status import HealthStatus
from handlers.manifest.exclusions import ResourceFilter
from handlers.ports import ApplyRefusedError, ClusterUnreachableError, KindInfo, LiveObject

_log = structlog.get_logger(__name__)

_DEBOUNCE = 0.1
_AGAIN_AFTER = (0.2, 0.5, 1.0, 3.0, 10.0)
_UNREACHABLE_PAUSE = 2.0
_DEFINITIONS = ("apiextensions.k8s.io", "CustomResourceDefinition")
_API_SERVICES = ("apiregistration.k8s.io", "APIService")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much of a cluster is looked at: `namespaces` empty means all of them."""

    excluded: ResourceFilter = field(default_factory=ResourceFilter)
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Followed:
    kind: KindInfo
    watch: KindWatch
    task: asyncio.Task[None]


class Live:
    """Implements the port LiveState. Believe it once `synced` has returned; `run` keeps it true."""

    def __init__(self, client: KubeClient, index: LiveIndex, extent: Extent) -> None:
        self.index = index
        self._client = client
        self._extent = extent
        self._kube_version = ""
        self._kinds: dict[tuple[str, str], KindInfo] = {}
        self._api_versions: tuple[str, ...] = ()
        self._followed: dict[Scope, _Followed] = {}
        self._look_again = asyncio.Event()
        self._synced = asyncio.Event()
        self._looking = asyncio.Lock()
        self._group: asyncio.TaskGroup | None = None

    # --- the port -----------------------------------------------------------------------------

    def get(self, key: ResourceKey) -> LiveObject | None:
        return self.index.get(key)

    def tracked(self, app: AppKey) -> tuple[LiveObject, ...]:
        return self.index.tracked(app)

    def owned_by(self, uid: str) -> tuple[LiveObject, ...]:
        return self.index.owned_by(uid)

    def kind(self, group: str, kind: str) -> KindInfo | None:
        return self._kinds.get((group, kind))

    def kube_version(self) -> str:
        return self._kube_version

    def api_versions(self) -> tuple[str, ...]:
        return self._api_versions

    # --- its life -----------------------------------------------------------------------------

    async def run(self) -> None:
        """Until cancelled. An API server that is away at the start is waited for."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            while True:
                await self._look_until_consistent()
                await self._look_again.wait()
                await asyncio.sleep(_DEBOUNCE)
                self._look_again.clear()

    async def synced(self) -> None:
        """Return when every kind that can be listed has been listed once."""
        await self._synced.wait()

    async def look(self) -> None:
        """Ask discovery now and follow what it names. Raises as the ports say."""
        async with self._looking:
            discovered = await discover(self._client)
            self._kube_version = discovered.kube_version
            self._api_versions = discovered.api_versions()
            self._adopt(discovered)

    def unlisted(self) -> tuple[str, ...]:
        """Kinds that are not followed for want of rights."""
        return tuple(
            f"{scope.group}/{scope.kind}"
            for scope, followed in self._followed.items()
            if followed.watch.state is State.FORBIDDEN
        )

    async def _look_until_consistent(self) -> None:
        """Discovery is a moment behind a definition: look until it is not, but not for ever."""
        for pause in _AGAIN_AFTER:
            await self._look_patiently()
            if self._consistent():
                return
            await asyncio.sleep(pause)

    async def _look_patiently(self) -> None:
        while True:
            try:
                await self.look()
            except (ApplyRefusedError, ClusterUnreachableError) as error:
                _log.warning("discovery failed", cause=str(error))
                await asyncio.sleep(_UNREACHABLE_PAUSE)
            else:
                return

    def _adopt(self, discovered: Discovered) -> None:
        found = discovered.preferred()
        for scope, followed in list(self._followed.items()):
            if (scope.group, scope.kind) not in found and followed.watch.state is State.ABSENT:
                self._give_up(scope)
        kept = {(it.kind.group, it.kind.kind): it.kind for it in self._followed.values()}
        self._kinds = {**kept, **found}
        for kind in found.values():
            for scope in self._scopes(kind):
                self._follow(scope, kind)
        self._note()

    def _scopes(self, kind: KindInfo) -> Iterator[Scope]:
        watchable = {"list", "watch"}.issubset(kind.verbs)
        if not watchable or self._extent.excluded.excludes(kind.group, kind.kind, self._client.url):
            return
        spaces = self._extent.namespaces if kind.namespaced else ()
        for space in spaces or ("",):
            yield Scope(group=kind.group, kind=kind.kind, namespace=space)

    def _follow(self, scope: Scope, kind: KindInfo) -> None:
        before = self._followed.get(scope)
        if self._group is None or (before is not None and before.kind == kind):
            return
        if before is not None:
            before.task.cancel()
        name = f"{scope.kind}.{scope.group}" if scope.group else scope.kind
        subject = Subject(name=name, path=collection(kind, scope.namespace), query={})
        sink = IndexSink(self.index, kind, scope, self._on_change(scope))
        watch = KindWatch(self._client, subject, sink, self._on_state)
        task = self._group.create_task(watch.run(), name=f"watch {name} {scope.namespace}".strip())
        self._followed[scope] = _Followed(kind=kind, watch=watch, task=task)

    def _give_up(self, scope: Scope) -> None:
        self._followed.pop(scope).task.cancel()
        self.index.forget_kind(scope.group, scope.kind)
        _log.info("kind is gone", group=scope.group, kind=scope.kind)

    def _on_change(self, scope: Scope) -> asyncio.Event | None:
        return (
            self._look_again if (scope.group, scope.kind) in (_DEFINITIONS, _API_SERVICES) else None
        )

    def _on_state(self, state: State) -> None:
        if state is State.ABSENT:
            self._look_again.set()
        self._note()

    def _note(self) -> None:
        """The first lists are done: what they made stays, and the collector may leave it alone."""
        waiting = (State.LISTING, State.FAILING)
        if self._synced.is_set() or any(
            it.watch.state in waiting for it in self._followed.values()
        ):
            return
        gc.collect()
        gc.freeze()
        self._synced.set()

    def _consistent(self) -> bool:
        """Every established definition is served, and nothing is followed that is not."""
        served = {f"{kind.plural}.{kind.group}" for kind in self._kinds.values()}
        definitions = self.index.of_kind(*_DEFINITIONS)
        defined = (it.key.name for it in definitions if it.health is HealthStatus.HEALTHY)
        absent = any(it.watch.state is State.ABSENT for it in self._followed.values())
        return not absent and served.issuperset(defined)
