"""PluginTurns divide the time of a plugin: a few calls at once, never all of them of one project.

A call that gets no turn soon comes back later, so that a plugin that hangs keeps no handler busy.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from agent.plugins.plugin_limits import PluginLimits
from handlers.ports import RendererBusyError


class PluginTurns:
    def __init__(self) -> None:
        self._turns: dict[tuple[str, str], asyncio.Semaphore] = {}

    @asynccontextmanager
    async def taken(self, plugin: str, project: str, limits: PluginLimits) -> AsyncIterator[None]:
        """Wait a little for a turn at the plugin; raises RendererBusyError."""
        of_all = self._of((plugin, ""), limits.parallel)
        of_project = self._of((plugin, f"project {project}"), max(1, limits.parallel - 1))
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(limits.patience):
                    await stack.enter_async_context(of_project)
                    await stack.enter_async_context(of_all)
            except TimeoutError as error:
                message = f"the plugin {plugin!r} has too much to do"
                raise RendererBusyError(message, after=limits.patience) from error
            yield

    def _of(self, key: tuple[str, str], most: int) -> asyncio.Semaphore:
        return self._turns.setdefault(key, asyncio.Semaphore(most))
