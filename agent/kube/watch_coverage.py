"""WatchCoverage says whether the objects of a kind can be seen, and why not.

The index holds what the watches bring. That it lacks an object means that the object is gone only
where a watch of its kind and namespace runs; who deletes or prunes has to know the difference.
What the server does not serve at all is gone: nothing is left to be seen, unless the group's own
API server is away, because then discovery leaves its kinds out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agent.kube.client import KubeClient
from agent.kube.index import LiveIndex
from agent.kube.live_extent import LiveExtent, is_watchable
from agent.kube.watch import WatchState
from agent.kube.watch_scope import WatchScope
from agent.kube.watches import Watches
from bus.identity import ResourceKey
from handlers.manifest.kinds import CUSTOM_RESOURCE_DEFINITION, KindInfo

_REMEMBERED = 10_000


class WatchCoverage:
    def __init__(
        self,
        watches: Watches,
        index: LiveIndex,
        extent: LiveExtent,
        client: KubeClient,
        kind: Callable[[str, str], KindInfo | None],
    ) -> None:
        self.unanswered: frozenset[str] = frozenset()
        """The groups whose own API server did not answer discovery."""
        self._watches = watches
        self._index = index
        self._extent = extent
        self._client = client
        self._kind = kind
        self._open: set[ResourceKey] = set()

    def gap(self, key: ResourceKey) -> str:
        """Say why the object cannot be seen, with the remedy; empty where it can, or is gone."""
        found = self._gap(key)
        if found and len(self._open) < _REMEMBERED:
            self._open.add(key)
        return found

    def closed_gaps(self) -> Iterable[ResourceKey]:
        """Return the objects that `gap` was asked about and that can be seen now, each once."""
        closed = [key for key in self._open if not self._gap(key)]
        self._open.difference_update(closed)
        return closed

    def _gap(self, key: ResourceKey) -> str:
        kind = self._kind(key.group, key.kind)
        if kind is None:
            return _away(key) if key.group in self.unanswered else ""
        if not is_watchable(kind):
            return ""
        scopes = tuple(self._extent.scopes(kind, self._client.url))
        scope = next((one for one in scopes if one.covers(key)), None)
        if scope is None:
            return _not_watched(key)
        state, why = self._watches.state_of(scope)
        if state is WatchState.WATCHING or (state is WatchState.ABSENT and self._is_gone(kind)):
            return ""
        return _obstacle(key, state, why)

    def _is_gone(self, kind: KindInfo) -> bool:
        """Whether nothing defines the kind any more; discovery may say so a moment later."""
        definition = CUSTOM_RESOURCE_DEFINITION
        scope = WatchScope(group=definition.group, kind=definition.kind)
        if self._watches.state_of(scope)[0] is not WatchState.WATCHING:
            return False
        key = ResourceKey(definition.group, definition.kind, "", f"{kind.plural}.{kind.group}")
        return self._index.get(key) is None


def _away(key: ResourceKey) -> str:
    return (
        f"the API server of the group {key.group} does not answer, so {_name(key)} cannot be "
        "listed: repair or delete its APIService"
    )


def _not_watched(key: ResourceKey) -> str:
    if key.namespace:
        return (
            f"{_name(key)} is not watched in namespace {key.namespace}: name that namespace again "
            "among those that the agent, or the cluster's Secret, is limited to"
        )
    return (
        f"{_name(key)} has no namespace and is not watched: permit clusterResources in the "
        "cluster's Secret, or do not limit the agent to namespaces"
    )


def _obstacle(key: ResourceKey, state: WatchState | None, why: str) -> str:
    if state is WatchState.FORBIDDEN:
        return (
            f"the agent may not see {_name(key)}: grant it get, list and watch of that kind ({why})"
        )
    return f"{_name(key)} is not watched now: {why or 'its first list is not complete'}"


def _name(key: ResourceKey) -> str:
    return f"the kind {key.kind}.{key.group}" if key.group else f"the kind {key.kind}"
