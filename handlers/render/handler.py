"""Render: RefreshApp -> ManifestsRendered | RenderFailed.

A render is made only where the recipe or something in its read set differs from the last good one.
Whatever goes wrong leaves the last good render and the live objects as they are; the application
says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bus.events import Event, ManifestsRendered, RefreshApp, RefreshRepository, RenderFailed
from bus.identity import Revision
from bus.status import ConditionType, Reason, SyncStatus
from bus.verdicts import Retry
from handlers.application import times
from handlers.application.application import REFRESH_ANNOTATION, Application
from handlers.application.conditions import revised
from handlers.application.status import Condition
from handlers.application.validate import problems
from handlers.manifest.tracking import app_identity
from handlers.ports import (
    Apps,
    Artifacts,
    Clock,
    ClusterUnreachableError,
    Git,
    LiveState,
    Renderer,
    Renders,
    RepositoryError,
    StatusWrite,
    Tree,
)
from handlers.render import detect
from handlers.render.assemble import Owner, assemble, decoded, served_kinds
from handlers.render.environment import build_environment
from handlers.render.readset import holds
from handlers.render.recipe import Recipe, RenderError, RenderRecord
from handlers.render.recipes import Surroundings, recipe_of
from handlers.render.wanted import pinned_revision, wanted_revision

_OWNED = (ConditionType.COMPARISON_ERROR, ConditionType.INVALID_SPEC_ERROR)
_COMES_BACK = (Reason.REPOSITORY_UNREACHABLE, Reason.CREDENTIALS_REFUSED)
"""Worth a look at the repository, which is tried again with back-off until it is there."""
_CLUSTER_BACK = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Render:
    apps: Apps
    git: Git
    renderer: Renderer
    artifacts: Artifacts
    renders: Renders
    live: LiveState
    clock: Clock
    control_namespace: str

    async def __call__(self, ask: RefreshApp) -> Sequence[Event]:
        app = self.apps.get(ask.app)
        if app is None:
            await self.renders.forget(ask.app)
            return ()
        if app.deleting:
            return ()
        if found := problems(app, self.apps.project(app.spec.project)):
            return await self._refuse(app, found)
        try:
            return await self._render(app, hard=ask.hard or _asked(app) == "hard")
        except (RepositoryError, RenderError) as error:
            return await self._fail(app, error)

    async def _render(self, app: Application, *, hard: bool) -> Sequence[Event]:
        url = app.source.repo_url if app.source else ""
        if hard or _asked(app):
            await self.git.fetch(url)
        revision = await self.git.resolve(url, wanted_revision(app))
        tree = await self.git.tree(url, revision)
        recipe = self._recipe(app, revision, tree)
        record = None if hard else await self._still_good(app, recipe, tree)
        cached = record is not None
        record = record or await self._make(app, recipe, revision, tree)
        if cached and (pinned_revision(app) or _asked(app)) and record.revision != revision:
            record = replace(record, revision=revision)
            await self.renders.remember(record)
        await self._say(app, ())
        return (_rendered(app, record, cached=cached),)

    def _recipe(self, app: Application, revision: Revision, tree: Tree) -> Recipe:
        source = app.source
        if source is None:
            raise RenderError(Reason.INVALID_SPEC, "spec.source is missing")
        folder = detect.folder_of(source, tree)
        if override := detect.override_file(folder, app.metadata.name, tree):
            raise _override_unsupported(override)
        version, api_versions = self.live.kube_version(), self.live.api_versions()
        environment = build_environment(app, revision, version, api_versions)
        surroundings = Surroundings(environment, version, api_versions)
        return recipe_of(detect.detect(source, folder, tree), app, folder, surroundings)

    async def _still_good(
        self, app: Application, recipe: Recipe, tree: Tree
    ) -> RenderRecord | None:
        """The last render, if another one would come out the same and its artifact is there."""
        record = self.renders.recall(app.key)
        if record is None or record.repository != app.repository:
            return None
        if record.recipe != recipe.fingerprint or not holds(record.read_set, tree):
            return None
        return record if await self.artifacts.get(record.digest) is not None else None

    async def _make(
        self, app: Application, recipe: Recipe, revision: Revision, tree: Tree
    ) -> RenderRecord:
        rendered = await self.renderer.render(recipe, tree)
        written = decoded(rendered)
        kinds = served_kinds(written, self.live.kind, self.live.api_versions())
        identity = app_identity(app.key, self.control_namespace)
        artifact = assemble(
            written, kinds, Owner(identity=identity, namespace=app.spec.destination.namespace)
        )
        source, repository = app.source, app.repository
        if source is None or repository is None:
            raise RenderError(Reason.INVALID_SPEC, "spec.source is missing")
        looked = detect.looked_for(source, recipe.path, app.metadata.name, tree)
        record = RenderRecord(
            app=app.key,
            repository=repository,
            revision=revision,
            recipe=recipe.fingerprint,
            read_set={**rendered.read_set, **looked},
            digest=await self.artifacts.put(artifact.content),
            objects=artifact.objects,
            source_type=recipe.type,
        )
        await self.renders.remember(record)
        return record

    async def _refuse(self, app: Application, found: tuple[Condition, ...]) -> Sequence[Event]:
        await self._say(app, found)
        message = "; ".join(one.message for one in found)
        return (_failed(app, Reason.INVALID_SPEC, message),)

    async def _fail(
        self, app: Application, error: RepositoryError | RenderError
    ) -> Sequence[Event]:
        message = _message(error)
        await self._say(app, (Condition(type=ConditionType.COMPARISON_ERROR, message=message),))
        failed = _failed(app, error.reason, message)
        if isinstance(error, RenderError):
            return (replace(failed, file=error.file, line=error.line),)
        if error.reason in _COMES_BACK and app.repository is not None:
            return (failed, RefreshRepository(repository=app.repository))
        return (failed,)

    async def _say(self, app: Application, found: tuple[Condition, ...]) -> None:
        """Write the conditions where they differ; the refresh annotation has been obeyed."""
        now = times.written(self.clock.now())
        status = replace(app.status, conditions=revised(app.status.conditions, _OWNED, found, now))
        if found:
            status = replace(status, sync=replace(status.sync, status=SyncStatus.UNKNOWN))
        obeyed = (REFRESH_ANNOTATION,) if _asked(app) else ()
        if status == app.status and not obeyed:
            return
        try:
            await self.apps.write(app, StatusWrite(status=status, remove_annotations=obeyed))
        except ClusterUnreachableError as error:
            raise Retry(f"status not written: {error}", after=_CLUSTER_BACK) from error


def _asked(app: Application) -> str:
    return app.metadata.annotations.get(REFRESH_ANNOTATION, "")


def _rendered(app: Application, record: RenderRecord, *, cached: bool) -> ManifestsRendered:
    return ManifestsRendered(
        app=app.key,
        project=app.spec.project,
        revision=record.revision,
        digest=record.digest,
        objects=record.objects,
        cached=cached,
    )


def _failed(app: Application, reason: Reason, message: str) -> RenderFailed:
    return RenderFailed(app=app.key, project=app.spec.project, reason=reason, message=message)


def _message(error: RepositoryError | RenderError) -> str:
    """With the place in front where the sentence does not name it."""
    if isinstance(error, RepositoryError) or not error.file or error.file in error.message:
        return error.message
    place = f"{error.file}:{error.line}" if error.line else error.file
    return f"{place}: {error.message}"


def _override_unsupported(path: str) -> RenderError:
    message = (
        f"{path} overrides the source, which this version does not act on; "
        "write its content into spec.source of the application and remove the file"
    )
    return RenderError(Reason.INVALID_SPEC, message, file=path)
