"""DryRenderer renders the dry source of one Application, as a sync would, for no cluster.

Nothing of a destination is in the result: neither its versions, nor a namespace, nor the mark of
the Application. What the project demands of authorship is demanded of the dry commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from bus.identity import Revision
from handlers.application.application import Application
from handlers.application.source_hydrator import as_dry
from handlers.application.target_revision import asked_revision
from handlers.ports import Sources
from handlers.render.evaluator import Evaluator
from handlers.render.source_proof import SourceProver
from handlers.render.source_resolver import ResolvedSource, SourceResolver


class DryRender(msgspec.Struct, frozen=True):
    objects: tuple[object, ...]
    unsupported: tuple[str, ...] = ()
    """Sentences about fields of override files that this version does not act on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRenderer:
    sources: Sources
    prover: SourceProver
    evaluate: Evaluator

    async def __call__(self, app: Application, commit: Revision, *, hard: bool) -> DryRender:
        """Raises RenderError, RepositoryError, RendererBusyError."""
        dry, submodules = as_dry(app), self.evaluate.submodules
        resolver = SourceResolver(sources=self.sources, submodules=submodules.is_on)
        found = await resolver.resolve(dry, (commit,))
        return await submodules.completed(dry, lambda: self._proven(dry, found, hard=hard))

    async def _proven(
        self, dry: Application, found: Sequence[ResolvedSource], *, hard: bool
    ) -> DryRender:
        await self.prover.prove(dry, found, tuple(asked_revision(one) for one in dry.sources))
        sources = await self.evaluate.effective(dry, found, None, hard=hard)
        recipes = self.evaluate.recipes(dry, sources)
        parts = await self.evaluate.parts(sources, recipes, hard=hard)
        return DryRender(
            tuple(document for part in parts for _, document in part.written if document),
            tuple(text for one in sources for text in one.unsupported),
        )
