"""Rendering: the sandbox, and what is kept of a render."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from bus.identity import AppKey, Digest, RepositoryKey
from handlers.ports.git import Tree
from handlers.render.recipe import Recipe, Rendered, RenderRecord


class Renderer(Protocol):
    async def render(
        self, recipe: Recipe, tree: Tree, *, project: str, hard: bool = False
    ) -> Rendered:
        """Evaluate in the sandbox, in the project's turn; raises RenderError, RendererBusyError.

        `hard`: also what is known to fail is tried again.
        """
        ...


class Artifacts(Protocol):
    """Stored bytes by digest: disk, then Redis where configured."""

    async def put(self, content: bytes) -> Digest: ...
    async def get(self, digest: Digest) -> bytes | None: ...


class Renders(Protocol):
    """The last good render of each application, and who read which path."""

    def recall(self, app: AppKey) -> RenderRecord | None: ...
    async def remember(self, record: RenderRecord) -> None: ...
    async def forget(self, app: AppKey) -> None: ...
    def readers(self, repository: RepositoryKey, paths: Iterable[str]) -> frozenset[AppKey]:
        """Applications whose read set may be touched by a change of `paths` (files)."""
        ...
