"""Evaluator: renders the source of an Application at a revision.

It reads the commit's files, asks the sandbox and writes nothing: the render handler keeps the
result, a preview throws it away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from bus.identity import Revision, digest_of
from bus.status import Reason
from handlers.application.application import Application
from handlers.manifest.tracking import app_identity
from handlers.manifest.tracking_method import Tracking
from handlers.ports import Clusters, CommitTree, Renderer
from handlers.ports.rendering import Recipe, RenderError, RenderRecord
from handlers.render import source_type
from handlers.render.artifact import ArtifactOwner, assemble, decoded, served_kinds
from handlers.render.recipes import recipe_at

RENDER_SECONDS = 180.0
"""Limit of one render with the fetch before it, in seconds."""


class RenderEvaluation(msgspec.Struct, frozen=True):
    """The content of an artifact, and the record under which it may be kept."""

    record: RenderRecord
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluator:
    renderer: Renderer
    clusters: Clusters
    control_namespace: str
    tracking: Callable[[], Tracking] = Tracking
    disabled_tools: Callable[[], frozenset[str]] = frozenset

    def recipe(self, app: Application, revision: Revision, tree: CommitTree) -> Recipe:
        """Raises RenderError, and the errors of `Clusters.of`."""
        live = self.clusters.of(app.spec.destination).live
        version, api_versions = live.kube_version(), live.api_versions()
        disabled = self.disabled_tools()
        return recipe_at(app, revision, tree, version, api_versions, disabled)

    async def __call__(
        self,
        app: Application,
        recipe: Recipe,
        revision: Revision,
        tree: CommitTree,
        *,
        hard: bool = False,
    ) -> RenderEvaluation:
        """Evaluate; raises RenderError, RendererBusyError and the errors of `Clusters.of`.

        `hard` tries again what is known to fail.
        """
        source, repository = app.source, app.repository
        if source is None or repository is None:
            raise RenderError(Reason.INVALID_SPEC, "spec.source is missing")
        evaluated = await self.renderer.render(recipe, tree, project=app.spec.project, hard=hard)
        written = decoded(evaluated)
        live = self.clusters.of(app.spec.destination).live
        kinds = served_kinds(written, live.kind, live.api_versions())
        identity = app_identity(app.key, self.control_namespace)
        tracking = self.tracking()
        owner = ArtifactOwner(
            identity=identity, namespace=app.spec.destination.namespace, tracking=tracking
        )
        artifact = assemble(written, kinds, owner)
        looked = source_type.looked_for(source, recipe.path, app.metadata.name, tree)
        record = RenderRecord(
            app=app.key,
            repository=repository,
            revision=revision,
            recipe=recipe.fingerprint,
            read_set={**evaluated.read_set, **looked},
            digest=digest_of(artifact.content),
            objects=artifact.objects,
            source_type=recipe.type,
            tracking=tracking.fingerprint,
        )
        return RenderEvaluation(record, artifact.content)
