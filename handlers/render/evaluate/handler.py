"""Evaluate: an application's source at a revision -> its manifests, and how they came about.

It reads the commit's files, asks the sandbox, and writes nothing: what the render room remembers of
it, and what a preview forgets, is their business.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from bus.identity import Revision, digest_of
from bus.status import Reason
from handlers.application.application import Application
from handlers.manifest.tracking import app_identity
from handlers.ports import LiveState, Renderer, Tree
from handlers.render import detect
from handlers.render.assemble import Owner, assemble, decoded, served_kinds
from handlers.render.recipe import Recipe, RenderError, RenderRecord
from handlers.render.recipes import recipe_at

RENDER_SECONDS = 180.0
"""What one render may take, with the fetch before it."""


class Made(msgspec.Struct, frozen=True):
    """The artifact's content, and the record under which it may be kept."""

    record: RenderRecord
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluate:
    renderer: Renderer
    live: LiveState
    control_namespace: str

    def recipe(self, app: Application, revision: Revision, tree: Tree) -> Recipe:
        """Raises RenderError."""
        version, api_versions = self.live.kube_version(), self.live.api_versions()
        return recipe_at(app, revision, tree, version, api_versions)

    async def __call__(
        self,
        app: Application,
        recipe: Recipe,
        revision: Revision,
        tree: Tree,
        *,
        hard: bool = False,
    ) -> Made:
        """Raises RenderError, RendererBusyError; `hard` tries again what is known to fail."""
        source, repository = app.source, app.repository
        if source is None or repository is None:
            raise RenderError(Reason.INVALID_SPEC, "spec.source is missing")
        evaluated = await self.renderer.render(recipe, tree, project=app.spec.project, hard=hard)
        written = decoded(evaluated)
        kinds = served_kinds(written, self.live.kind, self.live.api_versions())
        identity = app_identity(app.key, self.control_namespace)
        owner = Owner(identity=identity, namespace=app.spec.destination.namespace)
        artifact = assemble(written, kinds, owner)
        looked = detect.looked_for(source, recipe.path, app.metadata.name, tree)
        record = RenderRecord(
            app=app.key,
            repository=repository,
            revision=revision,
            recipe=recipe.fingerprint,
            read_set={**evaluated.read_set, **looked},
            digest=digest_of(artifact.content),
            objects=artifact.objects,
            source_type=recipe.type,
        )
        return Made(record, artifact.content)
