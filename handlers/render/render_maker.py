"""RenderMaker makes the render of an Application, or keeps what would come out the same again.

A source is evaluated only where its recipe or something in its read set differs from the last good
render; and nothing is rendered of commits that are not proven.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from handlers.application.application import Application
from handlers.application.desired_source import desired_revisions, pinned_revisions
from handlers.comparison.decryption import decrypted_artifact
from handlers.manifest.encryption import may_hold_encrypted
from handlers.ports import Artifacts, Renders
from handlers.ports.render_record import RenderRecord, SourceRecord
from handlers.render.evaluation import EvaluatedSource
from handlers.render.evaluator import Evaluator
from handlers.render.kept_sources import (
    at_revisions,
    is_whole,
    kept_sources,
    moved_together,
    written_in,
)
from handlers.render.render_outcome import asked_refresh
from handlers.render.source_proof import SourceProver
from handlers.render.source_resolver import ResolvedSource
from handlers.render.submodule_reader import require_submodules


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderMaker:
    prover: SourceProver
    evaluate: Evaluator
    artifacts: Artifacts
    renders: Renders

    async def __call__(
        self, app: Application, sources: Sequence[ResolvedSource], *, hard: bool
    ) -> tuple[RenderRecord, bool]:
        """Return the record, and whether it is the last one; another is to be remembered.

        Raises RenderError, RepositoryError, RendererBusyError and the errors of `Clusters.of`.
        """
        return await self.evaluate.submodules.completed(
            app, lambda: self._proven(app, sources, hard=hard)
        )

    async def _proven(
        self, app: Application, sources: Sequence[ResolvedSource], *, hard: bool
    ) -> tuple[RenderRecord, bool]:
        proof = await self.prover.prove(app, sources, desired_revisions(app))
        record, cached = await self._made(app, sources, hard=hard, is_proven=bool(proof.demand))
        if record.proof != proof:
            record = replace(record, proof=proof)
        return record, cached

    async def _made(
        self, app: Application, sources: Sequence[ResolvedSource], *, hard: bool, is_proven: bool
    ) -> tuple[RenderRecord, bool]:
        known = self.renders.recall(app.key)
        sources = await self.evaluate.effective(app, sources, known, hard=hard)
        recipes = self.evaluate.recipes(app, sources)
        last = None if hard else known
        kept = await self.evaluate.still_hold(kept_sources(last, sources, recipes), app)
        require_submodules(kept, sources)
        # Somebody wants to see these very commits, even where they changed nothing; and what is
        # proven is these commits, not the earlier ones with the same files.
        exact = is_proven or bool(pinned_revisions(app) or asked_refresh(app))
        if last is not None and await self._is_still_good(app, last, kept):
            return at_revisions(last, sources) if exact else last, True
        ready = await self._objects(kept)
        made = await self.evaluate(app, sources, recipes, kept=ready, hard=hard)
        for part in made.parts:
            await self.artifacts.put(part)
        digest = await self.artifacts.put(made.content)
        record = replace(made.record, digest=digest)
        if exact:
            return at_revisions(record, sources), False
        return moved_together(record, sources, recipes, ready), False

    async def _is_still_good(
        self, app: Application, last: RenderRecord, kept: Sequence[SourceRecord | None]
    ) -> bool:
        """Whether another render would come out the same, and the artifact of the last is there.

        Raises RenderError where it cannot be decrypted any more: its keys are gone.
        """
        if last.several != bool(app.spec.sources) or not is_whole(last, kept):
            return False
        if last.tracking != self.evaluate.tracking().fingerprint:
            return False
        content = await self.artifacts.get(last.digest)
        if content is None or _is_unverified(last, content):
            return False
        await decrypted_artifact(self.evaluate.decryption, app, last, content)
        return True

    async def _objects(self, kept: Sequence[SourceRecord | None]) -> Mapping[int, EvaluatedSource]:
        """Read the objects of the sources that need no evaluation, by their place."""
        found: dict[int, EvaluatedSource] = {}
        for place, record in enumerate(kept):
            if record is None:
                continue
            if not record.recipe:
                found[place] = EvaluatedSource(record=record)
                continue
            content = await self.artifacts.get(record.digest) if record.digest else None
            if content is not None and not _is_unverified(record, content):
                written = written_in(content, place)
                found[place] = EvaluatedSource(record=record, written=written)
        return found


def _is_unverified(record: RenderRecord | SourceRecord, content: bytes) -> bool:
    """Whether an earlier version rendered it, which checked nothing that is encrypted."""
    return not record.is_verified and may_hold_encrypted(content)
