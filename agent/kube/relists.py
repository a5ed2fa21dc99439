"""Relists: kinds are listed again when a setting changes that judges their objects."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agent.kube.index import LiveIndex
from agent.kube.script_queue import JudgedIndex
from agent.kube.watches import Watches
from bus.identity import ResourceKey
from handlers.application.health_scripts import HealthScripts


@dataclass(frozen=True, slots=True)
class Relists:
    watches: Watches
    index: LiveIndex
    group: asyncio.TaskGroup

    @contextmanager
    def subscribed(self) -> Iterator[None]:
        """List again, inside the block, whatever a change of settings concerns."""
        overrides = self.index.overrides
        with (
            overrides.changes.subscribed(self._on_scripts),
            overrides.relists.subscribed(self._on_unjudged),
            self.index.tracking.changes.subscribed(self._on_tracking),
        ):
            yield

    def _on_scripts(self, before: HealthScripts, after: HealthScripts) -> None:
        """List the kinds whose health script has changed, come or gone."""
        for scope in self.watches.scopes():
            if before.of(scope.group, scope.kind) != after.of(scope.group, scope.kind):
                self.watches.list_again(self.group, scope)

    def _on_unjudged(self, index: JudgedIndex, keys: frozenset[ResourceKey]) -> None:
        """List the kinds of objects whose health scripts were not run: too many waited."""
        if index is self.index:
            for scope in self.watches.scopes():
                self.watches.list_again(self.group, scope, keys)

    def _on_tracking(self) -> None:
        for scope in self.watches.scopes():
            self.watches.list_again(self.group, scope)
