"""The handler of RefreshApp: renders the manifests of an Application, or says why it cannot.

It returns ManifestsRendered or RenderFailed. A render is made only where the recipe or something in
its read set differs from the last good one. An error leaves the last good render and the live
objects as they are, and stands in a condition of the Application.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bus.events import Event, RefreshApp, RefreshRepository
from bus.identity import NO_REVISION, Revision
from bus.route import Retry
from bus.status import ConditionType, Reason
from handlers.application import times
from handlers.application.application import REFRESH_ANNOTATION, Application
from handlers.application.argo_settings import ArgoSettings
from handlers.application.deletion_stage import hook_finalizers_of
from handlers.application.desired_source import (
    as_desired,
    desired_revision,
    pinned_revision,
    pinned_source,
)
from handlers.application.spec import Source
from handlers.application.status import Condition
from handlers.application.validate import problems
from handlers.comparison.ignored_fields_reader import IgnoreRuleError
from handlers.ports import (
    Apps,
    Artifacts,
    Clock,
    Clusters,
    ClusterUnreachableError,
    CommitTree,
    DestinationUnavailableError,
    DestinationUnknownError,
    JqBusyError,
    RendererBusyError,
    Renders,
    RepositoryAccess,
    RepositoryError,
    Sources,
    StatusWrite,
)
from handlers.ports.rendering import Recipe, RenderError, RenderRecord
from handlers.render.evaluator import Evaluator
from handlers.render.missing_folder import may_be_newer
from handlers.render.read_set import holds
from handlers.render.render_outcome import (
    asked_refresh,
    condition_of,
    cut_off,
    failed,
    refused,
    rendered,
    unreachable,
    with_conditions,
)

_TRANSIENT = (
    Reason.REPOSITORY_UNREACHABLE,
    Reason.DISK_FULL,
    Reason.CREDENTIALS_REFUSED,
)
"""Reasons to refresh the repository, which is retried with back-off until it can be read."""
_AWAY = 5.0
_AGAIN = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderHandler:
    apps: Apps
    clusters: Clusters
    sources: Sources
    evaluate: Evaluator
    artifacts: Artifacts
    renders: Renders
    check_rules: Callable[[Application], Awaitable[None]]
    """Raises IgnoreRuleError where an ignore rule of the Application cannot be understood."""
    clock: Clock
    settings: Callable[[], ArgoSettings] = ArgoSettings

    async def __call__(self, ask: RefreshApp) -> Sequence[Event]:
        app = self.apps.get(ask.app)
        if app is None:
            await self.renders.forget(ask.app)
            return ()
        if app.is_skipped or (app.deleting and not hook_finalizers_of(app)):
            return ()
        app = as_desired(app)
        if conditions := self._problems(app):
            await self._write(app, conditions)
            return (refused(app, conditions),)
        try:
            await self.check_rules(app)
            return await self._rendered(app, ask)
        except IgnoreRuleError as error:
            wrong = (Condition(type=ConditionType.COMPARISON_ERROR, message=str(error)),)
            await self._write(app, wrong)
            return (refused(app, wrong),)
        except DestinationUnavailableError as error:
            return await self._unavailable(app, error)
        except DestinationUnknownError as error:
            raise Retry(error.message, after=_AGAIN) from error  # removed in this very moment
        except JqBusyError as error:
            raise Retry(str(error), after=_AWAY) from error

    async def _rendered(self, app: Application, ask: RefreshApp) -> Sequence[Event]:
        self.clusters.of(app.spec.destination)
        revision = NO_REVISION
        hard = ask.hard or asked_refresh(app) == "hard"
        try:
            revision = await self._resolve(app, fetch=hard or bool(asked_refresh(app)))
            try:
                events: Sequence[Event] = (await self._render(app, revision, hard=hard),)
            except RenderError as error:
                newest = await self._newest(app, error)
                if newest in (NO_REVISION, revision):
                    raise
                revision = newest
                fact = await self._render(app, revision, hard=hard)
                events = (fact, RefreshRepository(repository=self._repository(app).key))
        except (RepositoryError, RenderError) as error:
            return await self._fail(app, error, revision)
        except RendererBusyError as error:
            raise Retry(error.message, after=error.after) from error
        await self._write(app, ())
        return events

    async def _newest(self, app: Application, error: RenderError) -> Revision:
        """Look at the repository once more where that may help; else there is no revision.

        A look that fails asks for no other one: a server that fails every second time would have
        render and refresh ask each other for ever.
        """
        repository = self._repository(app)
        looked_at = self.sources.looked_at(repository)
        if not may_be_newer(app, error, looked_at, self.clock.now()):
            return NO_REVISION
        try:
            return await self._resolve(app, fetch=True)
        except RepositoryError:
            return NO_REVISION

    def _problems(self, app: Application) -> tuple[Condition, ...]:
        if malformed := self.apps.problem(app.key):
            message = f"the Application cannot be read: {malformed}"
            return (Condition(type=ConditionType.INVALID_SPEC_ERROR, message=message),)
        project = self.apps.project(app.spec.project)
        try:
            registered = self.clusters.registered(app.spec.destination)
        except DestinationUnknownError as error:
            unknown = Condition(type=ConditionType.INVALID_SPEC_ERROR, message=error.message)
            return tuple(dict.fromkeys((*problems(app, project), unknown)))
        return problems(app, project, registered, self.settings().impersonation)

    async def _unavailable(
        self, app: Application, error: DestinationUnavailableError
    ) -> Sequence[Event]:
        """Say that the cluster cannot be reached; when it can, it asks for the next refresh."""
        if error.pending:
            return ()
        await self._write(app, (unreachable(error),))
        return (cut_off(app, error),)

    async def _resolve(self, app: Application, *, fetch: bool) -> Revision:
        repository = self._repository(app)
        if fetch:
            await self.sources.fetch(repository)
        return await self.sources.resolve(repository, desired_revision(app))

    def _repository(self, app: Application) -> RepositoryAccess:
        return self.sources.access(app.source or Source(repo_url=""), app.spec.project)

    async def _render(self, app: Application, revision: Revision, *, hard: bool) -> Event:
        tree = await self.sources.tree(self._repository(app), revision)
        recipe = self.evaluate.recipe(app, revision, tree)
        record = None if hard else await self._still_good(app, recipe, tree)
        if record is None:
            made = await self._make(app, recipe, revision, tree, hard=hard)
            return rendered(app, made, cached=False)
        moved = record.revision != revision and (pinned_revision(app) or asked_refresh(app))
        if moved or record.pinned_source != pinned_source(app):
            # Somebody wants to see this very commit, or the same files by another source.
            record = replace(record, revision=revision, pinned_source=pinned_source(app))
            await self.renders.remember(record)
        return rendered(app, record, cached=True)

    async def _still_good(
        self, app: Application, recipe: Recipe, tree: CommitTree
    ) -> RenderRecord | None:
        """The last render, if another one would come out the same and its artifact is there."""
        record = self.renders.recall(app.key)
        if record is None or record.repository != app.repository:
            return None
        if record.tracking != self.evaluate.tracking().fingerprint:
            return None
        if record.recipe != recipe.fingerprint or not holds(record.read_set, tree):
            return None
        return record if await self.artifacts.get(record.digest) is not None else None

    async def _make(
        self, app: Application, recipe: Recipe, revision: Revision, tree: CommitTree, *, hard: bool
    ) -> RenderRecord:
        made = await self.evaluate(app, recipe, revision, tree, hard=hard)
        digest = await self.artifacts.put(made.content)
        record = replace(made.record, digest=digest, pinned_source=pinned_source(app))
        await self.renders.remember(record)
        return record

    async def _fail(
        self, app: Application, error: RepositoryError | RenderError, revision: Revision
    ) -> Sequence[Event]:
        await self._write(app, (condition_of(error),))
        fact = failed(app, error, revision)
        if error.reason in _TRANSIENT and app.repository is not None:
            return (fact, RefreshRepository(repository=app.repository))
        return (fact,)

    async def _write(self, app: Application, conditions: tuple[Condition, ...]) -> None:
        """Write conditions that differ, and remove the refresh annotation, which is done now."""
        status = with_conditions(app, conditions, times.written(self.clock.now()))
        done = (REFRESH_ANNOTATION,) if asked_refresh(app) else ()
        if status == app.status and not done:
            return
        try:
            await self.apps.write(app, StatusWrite(status=status, remove_annotations=done))
        except ClusterUnreachableError as error:
            raise Retry(f"status not written: {error}", after=_AWAY) from error
