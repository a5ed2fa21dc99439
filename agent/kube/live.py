"""LiveCluster follows the live state of a cluster: one watch per kind fills the index.

`run` owns every task. Discovery is read again when a CustomResourceDefinition or APIService
changes, when a watch finds its kind gone, and when a handler asks; by the clock only where the
agent may not see definitions, because then no event announces a new kind. A kind that may not be
listed is skipped with one warning and delays no other. A kind is given up only where discovery and
its own watch agree that it is gone: a group whose server is down must not look as if all its
objects were deleted.
"""

from __future__ import annotations

import asyncio
import gc

import structlog

from agent.kube.client import KubeClient
from agent.kube.discovery import Discovered, discover
from agent.kube.index import LiveIndex
from agent.kube.live_change import LiveChange
from agent.kube.live_extent import LiveExtent
from agent.kube.namespace_roots import NamespaceRoots
from agent.kube.relists import Relists
from agent.kube.watch import WatchState
from agent.kube.watch_coverage import WatchCoverage
from agent.kube.watches import Watches
from agent.subscribers import Subscribers
from bus.identity import AppKey, ResourceKey
from bus.status import HealthStatus
from handlers.manifest.kinds import KindInfo
from handlers.ports import ApplyRefusedError, ClusterUnreachableError, LiveObject

_log = structlog.get_logger(__name__)

_DEBOUNCE = 0.1
_AGAIN_AFTER = (0.2, 0.5, 1.0, 3.0, 10.0)
_UNREACHABLE_PAUSE = 2.0
_DEFINITIONS = ("apiextensions.k8s.io", "CustomResourceDefinition")
_API_SERVICES = ("apiregistration.k8s.io", "APIService")


class LiveCluster:
    """Implements the port LiveState; valid once `synced` has returned and while `run` runs."""

    def __init__(self, client: KubeClient, index: LiveIndex, extent: LiveExtent) -> None:
        self.index = index
        self._roots = NamespaceRoots(index)
        self.changes = Subscribers[[]]()
        """Called when watches break or resume, when all have listed, and for another version."""
        self._client = client
        self._extent = extent
        self._kube_version = ""
        self._kinds: dict[tuple[str, str], KindInfo] = {}
        self._api_versions: tuple[str, ...] = ()
        self._watches = Watches(client, index, self._on_state)
        self._coverage = WatchCoverage(self._watches, index, extent, client, self.kind)
        self._stale = False
        self._why_failing = ""
        self._look_again = asyncio.Event()
        self._synced = asyncio.Event()
        self._discovery_lock = asyncio.Lock()
        self._group: asyncio.TaskGroup | None = None

    # --- the port -----------------------------------------------------------------------------

    def get(self, key: ResourceKey) -> LiveObject | None:
        return self.index.get(key)

    def tracked(self, app: AppKey) -> tuple[LiveObject, ...]:
        return self.index.tracked(app)

    def roots_in(self, namespace: str) -> tuple[LiveObject, ...]:
        return self._roots.of(namespace)

    def owned_by(self, uid: str) -> tuple[LiveObject, ...]:
        return self.index.owned_by(uid)

    def kind(self, group: str, kind: str) -> KindInfo | None:
        return self._kinds.get((group, kind))

    def coverage_gap(self, key: ResourceKey) -> str:
        return self._coverage.gap(key)

    def kube_version(self) -> str:
        return self._kube_version

    def api_versions(self) -> tuple[str, ...]:
        return self._api_versions

    # --- its life -----------------------------------------------------------------------------

    async def run(self) -> None:
        """Run until cancelled; wait for an API server that is away at the start."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            with Relists(self._watches, self.index, group).subscribed():
                while True:
                    await self._look_until_consistent()
                    await self._until_kinds_may_differ()
                    await asyncio.sleep(_DEBOUNCE)
                    self._look_again.clear()

    @property
    def is_synced(self) -> bool:
        """Whether every kind that can be listed has been listed once."""
        return self._synced.is_set()

    async def synced(self) -> None:
        await self._synced.wait()

    @property
    def interrupted(self) -> bool:
        """Whether a watch fails, so that the index is outdated."""
        return self._stale

    @property
    def interruption(self) -> str:
        """Why a watch fails; empty where none does."""
        return self._why_failing if self._stale else ""

    @property
    def watched_kinds(self) -> int:
        """How many kinds are watched; 0 where every list is refused."""
        watched = self._watches.being(WatchState.WATCHING)
        return len({(scope.group, scope.kind) for scope in watched})

    async def look(self) -> None:
        """Read discovery now and follow the kinds that it names.

        Raises the errors of the port, and ClusterReplacedError.
        """
        async with self._discovery_lock:
            await self._client.cluster_uid()
            discovered = await discover(self._client)
            before, self._kube_version = self._kube_version, discovered.kube_version
            self._api_versions = discovered.api_versions()
            self._adopt(discovered)
            if self._kube_version != before:
                self.changes.notify()

    def unlisted(self) -> tuple[str, ...]:
        """Kinds that are not followed because the agent may not list them."""
        forbidden = self._watches.being(WatchState.FORBIDDEN)
        return tuple(f"{scope.group}/{scope.kind}" for scope in forbidden)

    async def _until_kinds_may_differ(self) -> None:
        while not self._look_again.is_set():
            try:
                async with asyncio.timeout(self._extent.look_every):
                    await self._look_again.wait()
            except TimeoutError:
                if self._is_blind:
                    return

    @property
    def _is_blind(self) -> bool:
        """Whether definitions may not be watched."""
        forbidden = self._watches.being(WatchState.FORBIDDEN)
        return _DEFINITIONS in {(scope.group, scope.kind) for scope in forbidden}

    async def _look_until_consistent(self) -> None:
        """Read discovery until it agrees with the definitions; a bounded number of times."""
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
        self._coverage.unanswered = discovered.unanswered
        found = discovered.preferred()
        for scope in self._watches.being(WatchState.ABSENT):
            if (scope.group, scope.kind) not in found:
                self._watches.give_up(scope)
        kept = {(kind.group, kind.kind): kind for kind in self._watches.kinds()}
        self._kinds = {**kept, **found}
        for kind in found.values():
            self._follow(kind)
        self._note()

    def _follow(self, kind: KindInfo) -> None:
        if self._group is None:
            return
        extends_discovery = (kind.group, kind.kind) in (_DEFINITIONS, _API_SERVICES)
        for scope in self._extent.scopes(kind, self._client.url):
            self._watches.follow(
                self._group, scope, kind, self._look_again if extends_discovery else None
            )

    def _on_state(self, state: WatchState, why: str) -> None:
        if state is WatchState.ABSENT:
            self._look_again.set()
        failing = self._watches.are_interrupted
        if failing and not self._stale:
            _log.warning("watches interrupted: the live state is of the past", cause=why)
        elif self._stale and not failing:
            _log.info("watches resumed")
        self._why_failing = why or self._why_failing
        before, self._stale = self._stale, failing
        if failing != before:
            self.changes.notify()
        self._note()
        if state is WatchState.WATCHING:
            for live in filter(None, map(self.index.get, self._coverage.closed_gaps())):
                self.index.changes_of_others.notify(LiveChange(before=None, after=live))

    def _note(self) -> None:
        """Note that the first lists are done, and exempt their objects from garbage collection."""
        unlisted = self._watches.being(WatchState.LISTING, WatchState.FAILING)
        if self._synced.is_set() or unlisted or self._watches.are_refused:
            return
        if self._extent.freeze:
            gc.collect()
            gc.freeze()
        self._synced.set()
        self.changes.notify()

    def _consistent(self) -> bool:
        """Tell whether every established definition is served, and every followed kind too."""
        served = {f"{kind.plural}.{kind.group}" for kind in self._kinds.values()}
        definitions = self.index.of_kind(*_DEFINITIONS)
        defined = (it.key.name for it in definitions if it.health is HealthStatus.HEALTHY)
        return not self._watches.being(WatchState.ABSENT) and served.issuperset(defined)
