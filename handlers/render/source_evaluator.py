"""SourceEvaluator evaluates one source of an Application, with all that it turns out to need.

The sandbox asks for charts and remote bases while it renders; they are fetched and it is asked
again, until it has everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from bus.identity import digest_of
from handlers.manifest.tracking import app_identity
from handlers.ports import Renderer
from handlers.ports.chart_dependency import DependencyRecord
from handlers.ports.decryption import Decryption
from handlers.ports.render_record import BaseRecord, RefRecord, SourceRecord
from handlers.ports.rendering import FetchedSources, Recipe, RenderError, RenderResult
from handlers.render import source_type
from handlers.render.artifact import decoded
from handlers.render.chart_dependencies import ChartDependencies, Charts
from handlers.render.decryption_check import DecryptionCheck
from handlers.render.evaluation import EvaluatedSource
from handlers.render.kept_sources import kept_content
from handlers.render.remote_bases import Bases, RemoteBases
from handlers.render.render_outcome import asked_refresh
from handlers.render.source_proof import UnprovenError
from handlers.render.source_resolver import ResolvedSource
from handlers.render.submodule_tree import read_of_commit, submodules_of

Refs = Mapping[str, ResolvedSource]
"""The sources whose files others may read, by their refs."""


class CompletedRender(msgspec.Struct, frozen=True):
    """A result, and what was fetched for it."""

    result: RenderResult
    charts: tuple[DependencyRecord, ...]
    bases: tuple[BaseRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEvaluator:
    renderer: Renderer
    dependencies: ChartDependencies
    bases: RemoteBases
    decryption: Decryption
    control_namespace: str
    hard: bool
    """Whether to try again what is known to fail."""

    async def evaluated(
        self, place: int, one: ResolvedSource, recipe: Recipe | None, refs: Refs
    ) -> EvaluatedSource:
        """Evaluate; raises RenderError and RendererBusyError. Without a recipe nothing is done."""
        urls = {it.path: it.url for it in submodules_of(one.tree)}
        record = SourceRecord(repository=one.access.key, revision=one.revision, submodules=urls)
        if recipe is None:
            return EvaluatedSource(record=record)
        try:
            found = await self._completed(one, recipe, refs)
        except UnprovenError:
            raise
        except RenderError as error:
            raise one.located(error) from error
        record = self._recorded(record, one, recipe, refs, found)
        written = decoded(found.result, place)
        if not one.place:
            return EvaluatedSource(record=record, written=written)
        content = kept_content(found.result)
        record = replace(record, digest=digest_of(content))
        return EvaluatedSource(record=record, written=written, content=content)

    async def _completed(self, one: ResolvedSource, recipe: Recipe, refs: Refs) -> CompletedRender:
        """Render until nothing is missing, and check what is encrypted."""
        trees = {name: refs[name].tree for name in recipe.refs}
        project, look = one.app.spec.project, self.hard or bool(asked_refresh(one.app))

        async def render(bases: Bases) -> tuple[RenderResult, tuple[DependencyRecord, ...]]:
            async def with_charts(charts: Charts) -> RenderResult:
                fetched = FetchedSources(charts=charts, bases=bases)
                return await self.renderer.render(
                    recipe, one.tree, refs=trees, fetched=fetched, project=project, hard=self.hard
                )

            return await self.dependencies.completed(
                with_charts, project, user=one.access, look=look
            )

        (result, charts), bases = await self.bases.completed(render, one, look=look)
        files = {base.wanted: base.tree for base in bases}
        await DecryptionCheck(decryption=self.decryption).check(one, result, files)
        read = tuple(base.record(result.bases[base.wanted]) for base in bases)
        return CompletedRender(result, charts, read)

    def _recorded(
        self,
        record: SourceRecord,
        one: ResolvedSource,
        recipe: Recipe,
        refs: Refs,
        found: CompletedRender,
    ) -> SourceRecord:
        identity = app_identity(one.app.key, self.control_namespace)
        looked = source_type.looked_for(one.source, recipe.path, identity, one.tree)
        return replace(
            record,
            recipe=recipe.fingerprint,
            source_type=recipe.type,
            plugin=one.plugin,
            is_verified=True,
            read_set=read_of_commit({**found.result.read_set, **looked}, one.tree),
            refs={
                name: RefRecord(refs[name].access.key, read_of_commit(read, refs[name].tree))
                for name, read in found.result.refs.items()
            },
            dependencies=found.charts,
            bases=found.bases,
        )
