"""PluginWatch notices plugins that come, go or start again, and asks for what that concerns.

A sidecar may be ready after the agent: whatever waited for its plugin is rendered then, without a
push. What is rendered already costs a look into the cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import structlog

from agent.observe.metrics import AgentMetrics
from agent.plugins.plugin_sidecars import PluginSidecars
from bus.events import RefreshApp
from handlers.application.application import Application
from handlers.application.spec import Source
from handlers.ports.rendering import SourceType
from handlers.render.source_type import has_block

log = structlog.get_logger()

_LOOK_EVERY = 2.0


@dataclass(slots=True, kw_only=True)
class PluginWatch:
    """Runs as long as the agent acts, as a task of its TaskGroup."""

    plugins: PluginSidecars
    apps: Callable[[], Iterable[Application]]
    put: Callable[[RefreshApp], None]
    metrics: AgentMetrics

    async def run(self) -> None:
        if self.plugins.folder is None:
            return
        known = self._look()
        self._report(known)
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            found = self._look()
            if found == known:
                continue
            known = found
            self._report(known)
            for app in concerned(self.apps()):
                self.put(RefreshApp(app=app.key))

    def _look(self) -> dict[str, str]:
        return {one.name: one.identity for one in self.plugins.sockets()}

    def _report(self, found: dict[str, str]) -> None:
        log.info("plugins", found=sorted(found), folder=str(self.plugins.folder))
        self.metrics.plugins.set(len(found))


def concerned(apps: Iterable[Application]) -> Iterator[Application]:
    """Find the Applications of which a plugin renders a source, or might."""
    for app in apps:
        types = (app.status.source_type, *app.status.source_types)
        if SourceType.PLUGIN in types or any(_may_be(one) for one in app.sources):
            yield app


def _may_be(source: Source) -> bool:
    return source.plugin is not None or not has_block(source)
