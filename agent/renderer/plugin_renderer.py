"""PluginRenderer renders recipes of plugins by their sidecars, and all others in the sandbox.

A plugin answers with YAML, which the sandbox reads: to the agent it is as strange as anything else
that a tenant may have had a hand in, and the objects pass the same checks as all others.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent.plugins.plugin_sidecars import PluginSidecars
from agent.renderer.renderer import SandboxRenderer
from handlers.ports import CommitTree, FileNeededError, RepositoryError
from handlers.ports.rendering import (
    NOTHING_FETCHED,
    FetchedSources,
    Recipe,
    RenderError,
    RenderResult,
)


class PluginRenderer:
    """Implements handlers.ports.Renderer."""

    def __init__(self, sandbox: SandboxRenderer, plugins: PluginSidecars) -> None:
        self._sandbox = sandbox
        self._plugins = plugins

    async def render(
        self,
        recipe: Recipe,
        tree: CommitTree,
        *,
        refs: Mapping[str, CommitTree] = {},
        fetched: FetchedSources = NOTHING_FETCHED,
        project: str = "",
        hard: bool = False,
    ) -> RenderResult:
        """Render; raises RenderError, RendererBusyError."""
        if recipe.plugin is None:
            return await self._sandbox.render(
                recipe, tree, refs=refs, fetched=fetched, project=project, hard=hard
            )
        name = recipe.plugin.name
        try:
            manifests = await self._plugins.generate(recipe, tree, project=project, hard=hard)
        except FileNeededError:
            raise
        except RepositoryError as error:
            raise RenderError(error.reason, error.message) from error
        return await self._sandbox.manifests(
            manifests, file=f"output of the plugin {name}", project=project
        )

    async def document(self, content: bytes, *, file: str, project: str = "") -> object:
        """Read the one YAML document of a file; raises RenderError, RendererBusyError."""
        return await self._sandbox.document(content, file=file, project=project)
