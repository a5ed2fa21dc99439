"""The port of config management plugins: which ones there are, and which recognise a source.

A plugin is a program of the cluster's owner in a container of its own. It renders through the port
Renderer, as every other tool.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from handlers.ports.rendering import Recipe
from handlers.ports.sources import CommitTree


class PluginMatch(StrEnum):
    MATCHES = "matches"
    DIFFERS = "differs"
    UNCONFIGURED = "unconfigured"
    """The plugin looks for nothing: only an Application that names it gets it."""


class Plugins(Protocol):
    def names(self) -> tuple[str, ...]:
        """The plugins whose sockets are there now, in the order in which they are asked."""
        ...

    async def match(
        self, recipe: Recipe, tree: CommitTree, *, project: str, hard: bool = False
    ) -> PluginMatch:
        """Ask the recipe's plugin whether it recognises the files; an answer is remembered.

        Raises RenderError where the plugin fails, RendererBusyError. `hard` asks again.
        """
        ...


class NoPlugins:
    """The plugins where there are none: without a folder of sockets, and in offline commands."""

    def names(self) -> tuple[str, ...]:
        return ()

    async def match(
        self,
        recipe: Recipe,
        tree: CommitTree,  # noqa: ARG002  the port's signature
        *,
        project: str,  # noqa: ARG002  likewise
        hard: bool = False,  # noqa: ARG002  likewise
    ) -> PluginMatch:
        raise RuntimeError(f"{recipe.path}: there is no plugin to ask")
