"""The running watches of a cluster: one task per scope, started and ended as kinds come and go.

The tasks belong to the group that is handed in; this only remembers which is whose.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import structlog

from agent.kube.client import KubeClient
from agent.kube.index import LiveIndex, Scope
from agent.kube.paths import collection
from agent.kube.sink import IndexSink
from agent.kube.watch import KindWatch, OnState, State, Subject
from handlers.manifest.kinds import KindInfo

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Followed:
    kind: KindInfo
    watch: KindWatch
    task: asyncio.Task[None]


class Watches:
    """`on_state` hears every transition of every watch."""

    def __init__(self, client: KubeClient, index: LiveIndex, on_state: OnState) -> None:
        self._client = client
        self._index = index
        self._on_state = on_state
        self._followed: dict[Scope, _Followed] = {}

    def follow(
        self,
        group: asyncio.TaskGroup,
        scope: Scope,
        kind: KindInfo,
        changed: asyncio.Event | None = None,
    ) -> None:
        """No effect where this is done already; a new preferred version starts over."""
        before = self._followed.get(scope)
        if before is not None and before.kind == kind:
            return
        if before is not None:
            before.task.cancel()
        name = f"{scope.kind}.{scope.group}" if scope.group else scope.kind
        subject = Subject(name=name, path=collection(kind, scope.namespace), query={})
        sink = IndexSink(self._index, kind, scope, changed)
        watch = KindWatch(self._client, subject, sink, self._on_state)
        task = group.create_task(watch.run(), name=f"watch {name} {scope.namespace}".strip())
        self._followed[scope] = _Followed(kind=kind, watch=watch, task=task)

    def give_up(self, scope: Scope) -> None:
        self._followed.pop(scope).task.cancel()
        self._index.forget_kind(scope.group, scope.kind)
        _log.info("kind is gone", group=scope.group, kind=scope.kind)

    def kinds(self) -> tuple[KindInfo, ...]:
        return tuple(followed.kind for followed in self._followed.values())

    def scopes(self) -> tuple[Scope, ...]:
        return tuple(self._followed)

    def being(self, *states: State) -> tuple[Scope, ...]:
        """The scopes whose watch is in one of these states."""
        return tuple(scope for scope, it in self._followed.items() if it.watch.state in states)
