"""Evaluator: renders the sources of an Application, each at its revision.

It reads the files of the revisions, asks the sandbox and writes nothing: the render handler keeps
the result, a preview throws it away. Each source is evaluated by itself; then the objects of all
are put together in the order of the sources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from bus.identity import digest_of
from handlers.application.application import Application
from handlers.application.desired_source import pinned_revisions
from handlers.application.tool_settings import ToolSettings
from handlers.manifest.tracking import app_identity
from handlers.manifest.tracking_method import Tracking
from handlers.ports import Clusters, Renderer
from handlers.ports.decryption import Decryption, NoDecryption
from handlers.ports.plugins import NoPlugins, Plugins
from handlers.ports.render_record import RenderRecord, SourceRecord
from handlers.ports.rendering import RenderError
from handlers.render.artifact import ArtifactOwner, assemble, served_kinds
from handlers.render.chart_dependencies import ChartDependencies
from handlers.render.evaluation import EvaluatedSource, RenderEvaluation
from handlers.render.kept_sources import Recipes, refs_of
from handlers.render.plugin_choice import PluginChoice, histories
from handlers.render.recipes import ClusterVersions
from handlers.render.remote_bases import RemoteBases
from handlers.render.render_outcome import asked_refresh
from handlers.render.source_evaluator import SourceEvaluator
from handlers.render.source_overrides import effective_source, unsupported_of_overrides
from handlers.render.source_recipes import plugin_recipe, source_recipes
from handlers.render.source_resolver import ResolvedSource, with_only
from handlers.render.submodule_reader import SubmoduleReader

RENDER_SECONDS = 180.0
"""Limit of one render with the fetch before it, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluator:
    renderer: Renderer
    clusters: Clusters
    dependencies: ChartDependencies
    bases: RemoteBases
    submodules: SubmoduleReader
    control_namespace: str
    tracking: Callable[[], Tracking] = Tracking
    tools: Callable[[], ToolSettings] = ToolSettings
    plugins: Plugins = field(default_factory=NoPlugins)
    decryption: Decryption = field(default_factory=NoDecryption)
    versions: ClusterVersions | None = None
    """In place of what each destination serves."""

    async def effective(
        self,
        app: Application,
        sources: Sequence[ResolvedSource],
        last: RenderRecord | None,
        *,
        hard: bool = False,
    ) -> tuple[ResolvedSource, ...]:
        """Merge override files over the sources, and find the plugins that render any.

        Raises RenderError, RendererBusyError and the errors of `Clusters.of`.
        """
        overridden = [await self._overridden(one) for one in sources]
        recipe_with = partial(plugin_recipe, self._versions(app))
        choice = PluginChoice(plugins=self.plugins, recipe_with=recipe_with, hard=hard)
        return await choice.of_each(overridden, histories(app, last))

    def _versions(self, app: Application) -> ClusterVersions:
        if self.versions is not None:
            return self.versions
        live = self.clusters.of(app.spec.destination).live
        return ClusterVersions(live.kube_version(), live.api_versions())

    async def _overridden(self, one: ResolvedSource) -> ResolvedSource:
        if not one.source.renders:
            return one
        identity = app_identity(one.app.key, self.control_namespace)
        try:
            source = await effective_source(
                one.source,
                one.tree,
                identity,
                renderer=self.renderer,
                project=one.app.spec.project,
            )
        except RenderError as error:
            raise one.located(error) from error
        if source is one.source:
            return one
        return replace(
            one,
            app=with_only(one.app, source),
            source=source,
            unsupported=unsupported_of_overrides(one.source, source),
        )

    def recipes(self, app: Application, sources: Sequence[ResolvedSource]) -> Recipes:
        """Make the recipes. Raises RenderError, and the errors of `Clusters.of`.

        The revisions of an operation were deployed before, or are named by a person: they hold,
        also where they are different commits of one repository.
        """
        return source_recipes(
            sources, self._versions(app), self.tools(), one_commit=not any(pinned_revisions(app))
        )

    async def __call__(
        self,
        app: Application,
        sources: Sequence[ResolvedSource],
        recipes: Recipes,
        *,
        kept: Mapping[int, EvaluatedSource] = {},
        hard: bool = False,
    ) -> RenderEvaluation:
        """Evaluate; raises RenderError, RendererBusyError and the errors of `Clusters.of`.

        `kept` are the sources, by their place, that need no evaluation. `hard` tries again what is
        known to fail.
        """
        several = bool(app.spec.sources)
        parts = await self.parts(sources, recipes, kept=kept, hard=hard)
        written = tuple(document for part in parts for document in part.written)
        live = self.clusters.of(app.spec.destination).live
        kinds = served_kinds(written, live.kind, live.api_versions())
        identity = app_identity(app.key, self.control_namespace)
        tracking = self.tracking()
        owner = ArtifactOwner(
            identity=identity, namespace=app.spec.destination.namespace, tracking=tracking
        )
        artifact = assemble(written, kinds, owner)
        record = RenderRecord(
            app=app.key,
            sources=tuple(part.record for part in parts),
            several=several,
            digest=digest_of(artifact.content),
            objects=artifact.objects,
            repeated=artifact.repeated[:_NAMED],
            unsupported=tuple(text for one in sources for text in one.unsupported)[:_NAMED],
            tracking=tracking.fingerprint,
        )
        made = tuple(part.content for part in parts if part.content)
        return RenderEvaluation(record, artifact.content, made)

    async def parts(
        self,
        sources: Sequence[ResolvedSource],
        recipes: Recipes,
        *,
        kept: Mapping[int, EvaluatedSource] = {},
        hard: bool = False,
    ) -> Sequence[EvaluatedSource]:
        """Evaluate each source by itself; errors and arguments as above."""
        evaluator = SourceEvaluator(
            renderer=self.renderer,
            dependencies=self.dependencies,
            bases=self.bases,
            decryption=self.decryption,
            control_namespace=self.control_namespace,
            hard=hard,
        )
        refs, parts = refs_of(sources), list[EvaluatedSource]()
        for place, (one, recipe) in enumerate(zip(sources, recipes, strict=True)):
            known = kept.get(place)
            parts.append(known or await evaluator.evaluated(place, one, recipe, refs))
        return parts

    async def still_hold(
        self, kept: Sequence[SourceRecord | None], app: Application
    ) -> Sequence[SourceRecord | None]:
        """Drop the records of which a chart or base that was fetched would be another one now."""
        project, look = app.spec.project, bool(asked_refresh(app))
        return [
            one
            if one
            and await self.dependencies.hold(one.dependencies, project, look=look)
            and await self.bases.hold(one.bases, project, look=look)
            else None
            for one in kept
        ]


_NAMED = 20
