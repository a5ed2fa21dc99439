"""Watches runs the watches of a cluster: one task per scope, as kinds come and go.

The tasks belong to the TaskGroup that is passed in; Watches only maps scopes to tasks. Each watch
puts its objects into the index through an IndexSink.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import msgspec
import structlog

from agent.kube.client import KubeClient
from agent.kube.discovery import collection_path
from agent.kube.index import LiveIndex
from agent.kube.summary import summarise
from agent.kube.watch import KindWatch, OnState, WatchState, WatchTarget
from agent.kube.watch_scope import WatchScope
from bus.identity import ResourceKey
from handlers.manifest.kinds import KindInfo
from handlers.ports import LiveObject

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Followed:
    kind: KindInfo
    watch: KindWatch
    task: asyncio.Task[None]
    changed: asyncio.Event | None


class Watches:
    """`on_state` is called at every transition of every watch."""

    def __init__(self, client: KubeClient, index: LiveIndex, on_state: OnState) -> None:
        self._client = client
        self._index = index
        self._on_state = on_state
        self._followed: dict[WatchScope, _Followed] = {}

    def follow(
        self,
        group: asyncio.TaskGroup,
        scope: WatchScope,
        kind: KindInfo,
        changed: asyncio.Event | None = None,
    ) -> None:
        """Follow a scope; no effect if it is followed, but a new version restarts it."""
        before = self._followed.get(scope)
        if before is not None and before.kind == kind:
            return
        self._start(group, scope, kind, changed)

    def list_again(
        self,
        group: asyncio.TaskGroup,
        scope: WatchScope,
        only: frozenset[ResourceKey] | None = None,
    ) -> None:
        """List a scope from the start, and take what is known of it, or `only` these, once more.

        A scope that has none of these goes on as it is.
        """
        followed = self._followed[scope]
        if not self._index.reconsider(scope, only) and only is not None:
            return
        self._start(group, scope, followed.kind, followed.changed)

    def _start(
        self,
        group: asyncio.TaskGroup,
        scope: WatchScope,
        kind: KindInfo,
        changed: asyncio.Event | None,
    ) -> None:
        before = self._followed.get(scope)
        if before is not None:
            before.task.cancel()
        name = f"{scope.kind}.{scope.group}" if scope.group else scope.kind
        subject = WatchTarget(name=name, path=collection_path(kind, scope.namespace), query={})
        sink = IndexSink(self._index, kind, scope, changed)
        watch = KindWatch(self._client, subject, sink, self._on_state)
        task = group.create_task(watch.run(), name=f"watch {name} {scope.namespace}".strip())
        self._followed[scope] = _Followed(kind=kind, watch=watch, task=task, changed=changed)

    def give_up(self, scope: WatchScope) -> None:
        self._followed.pop(scope).task.cancel()
        self._index.forget_kind(scope.group, scope.kind)
        _log.info("kind is gone", group=scope.group, kind=scope.kind)

    def kinds(self) -> tuple[KindInfo, ...]:
        return tuple(followed.kind for followed in self._followed.values())

    def scopes(self) -> tuple[WatchScope, ...]:
        return tuple(self._followed)

    def state_of(self, scope: WatchScope) -> tuple[WatchState | None, str]:
        """Return the state of a watch and its reason; None where the scope is not followed."""
        followed = self._followed.get(scope)
        return (followed.watch.state, followed.watch.why) if followed is not None else (None, "")

    def being(self, *states: WatchState) -> tuple[WatchScope, ...]:
        """Return the scopes whose watch is in one of these states."""
        return tuple(scope for scope, it in self._followed.items() if it.watch.state in states)

    @property
    def are_refused(self) -> bool:
        """Whether the server gives errors for every kind, so that it is not one of them."""
        return bool(self.being(WatchState.REFUSED)) and not self.being(WatchState.WATCHING)

    @property
    def are_interrupted(self) -> bool:
        """Whether one of them fails, or the server refuses all."""
        return bool(self.being(WatchState.FAILING)) or self.are_refused


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    namespace: str = ""
    name: str = ""
    resource_version: str = ""


class _Head(msgspec.Struct, frozen=True):
    metadata: _Metadata


_HEADS = msgspec.json.Decoder(_Head)


class IndexSink:
    """IndexSink puts the objects of one watch into the index: one sink per kind (and namespace).

    Most of a repeated list, and every event of our own writes, is in the index already: the
    resource version shows it, before the object is decoded in full.

    `changed` is set at each change, for kinds whose objects define other kinds.
    """

    def __init__(
        self, index: LiveIndex, kind: KindInfo, scope: WatchScope, changed: asyncio.Event | None
    ) -> None:
        self._index = index
        self._api_version = f"{kind.group}/{kind.version}" if kind.group else kind.version
        self._version = kind.version
        self._scope = scope
        self._changed = changed
        self._is_secret = (kind.group, kind.kind) == ("", "Secret")
        self._seen: set[str] | None = None

    def begin_list(self) -> None:
        self._seen = set()

    def forget_versions(self) -> None:
        self._index.forget_versions(self._scope)

    def put(self, raw: bytes) -> None:
        if self._is_secret:
            self._index.secrets_seen.notify(raw)
        known = self._known(raw)
        live = known or self._summary(raw)
        if self._seen is not None:
            self._seen.add(live.uid)
        if known is None:
            self._index.put(live, raw=raw)
            self._notify()

    def remove(self, raw: bytes) -> None:
        self._index.remove(self._summary(raw))
        self._notify()

    def end_list(self, resource_version: str) -> None:
        seen, self._seen = self._seen or set(), None
        self._index.settle(self._scope, seen, resource_version)
        self._notify()

    def _known(self, raw: bytes) -> LiveObject | None:
        """Return the indexed object where `raw` is the same state of it."""
        metadata = _HEADS.decode(raw).metadata
        key = ResourceKey(self._scope.group, self._scope.kind, metadata.namespace, metadata.name)
        known = self._index.get(key)
        if known is None or known.version != self._version or self._index.is_reconsidered(key):
            return None
        return known if known.resource_version == metadata.resource_version else None

    def _summary(self, raw: bytes) -> LiveObject:
        return summarise(
            raw,
            api_version=self._api_version,
            kind=self._scope.kind,
            tracking=self._index.tracking.now,
        )

    def _notify(self) -> None:
        if self._changed is not None:
            self._changed.set()
