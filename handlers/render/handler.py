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
from bus.identity import NO_REVISION, RepositoryKey
from bus.route import Retry
from bus.status import ConditionType, Reason
from handlers.application import times
from handlers.application.application import REFRESH_ANNOTATION, Application
from handlers.application.argo_settings import ArgoSettings
from handlers.application.deletion_stage import hook_finalizers_of
from handlers.application.desired_source import (
    as_desired,
    desired_revisions,
    desired_sources,
    pinned_source,
)
from handlers.application.failure_wait import wait
from handlers.application.status import Condition
from handlers.application.validate import problems
from handlers.comparison.ignored_fields_reader import IgnoreRuleError
from handlers.ports import (
    Apps,
    Clock,
    Clusters,
    ClusterUnreachableError,
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
from handlers.ports.rendering import RenderError
from handlers.render.missing_folder import may_be_newer
from handlers.render.render_maker import RenderMaker
from handlers.render.render_outcome import (
    asked_refresh,
    condition_of,
    cut_off,
    failed,
    message_of,
    refused,
    rendered,
    repeated,
    unreachable,
    with_conditions,
)
from handlers.render.source_resolver import ResolvedSource, SourceResolver

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
    make: RenderMaker
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
        pinned, wanted, app = pinned_source(app), desired_sources(app), as_desired(app)
        if conditions := self._problems(app):
            await self._write(app, conditions)
            return (refused(app, conditions),)
        try:
            await self.check_rules(app)
            return await self._rendered(app, ask, pinned=pinned, wanted=wanted)
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

    async def _rendered(
        self, app: Application, ask: RefreshApp, *, pinned: str, wanted: str
    ) -> Sequence[Event]:
        self.clusters.of(app.spec.destination)
        sources: tuple[ResolvedSource, ...] = ()
        hard = ask.hard or asked_refresh(app) == "hard"
        try:
            sources = await self._resolve(app, None if hard or asked_refresh(app) else ())
            try:
                record, cached = await self.make(app, sources, hard=hard)
                events: tuple[Event, ...] = ()
            except RenderError as error:
                sources, moved = await self._newer(app, sources, error)
                if not moved:
                    raise
                record, cached = await self.make(app, sources, hard=hard)
                events = tuple(RefreshRepository(repository=one) for one in moved)
            if (record.pinned_source, record.desired_sources) != (pinned, wanted):
                record = replace(record, pinned_source=pinned, desired_sources=wanted)
            if record is not self.renders.recall(app.key):
                await self.renders.remember(record)
        except (RepositoryError, RenderError) as error:
            return await self._fail(app, error, sources)
        except RendererBusyError as error:
            raise Retry(error.message, after=error.after) from error
        await self._write(app, repeated(record))
        return (rendered(app, record, cached=cached), *events)

    async def _newer(
        self, app: Application, sources: tuple[ResolvedSource, ...], error: RenderError
    ) -> tuple[tuple[ResolvedSource, ...], tuple[RepositoryKey, ...]]:
        """Look at repositories once more where that may help; returns what moved, and whose.

        A look that fails asks for no other one: a server that fails every second time would have
        render and refresh ask each other for ever.
        """
        now, looked_at = self.clock.now(), self.sources.looked_at
        found = dict.fromkeys(one.access for one in sources)
        again = [one for one in found if may_be_newer(app, error, looked_at(one), now)]
        if not again:
            return sources, ()
        try:
            newest = await self._resolve(app, tuple(again))
        except RepositoryError:
            return sources, ()
        pairs = zip(sources, newest, strict=True)
        moved = [new.access.key for old, new in pairs if old.revision != new.revision]
        return newest, tuple(dict.fromkeys(moved))

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

    async def _resolve(
        self, app: Application, fetch: tuple[RepositoryAccess, ...] | None
    ) -> tuple[ResolvedSource, ...]:
        resolver = SourceResolver(
            sources=self.sources, submodules=self.make.evaluate.submodules.is_on
        )
        return await resolver.resolve(app, desired_revisions(app), fetch=fetch)

    async def _fail(
        self,
        app: Application,
        error: RepositoryError | RenderError,
        sources: Sequence[ResolvedSource],
    ) -> Sequence[Event]:
        await self._write(app, (condition_of(error),))
        rendering = (one.revision for one in sources if one.source.renders)
        fact = failed(app, error, next(rendering, NO_REVISION))
        if error.reason in _TRANSIENT and isinstance(error, RenderError):
            # A chart that another one depends on, or a submodule: no refresh of the repository
            # looks for it again.
            after = wait((app,), message_of(error), self.clock.now())
            raise Retry(error.message, after=after, emit=(fact,))
        repository = error.repository if isinstance(error, RepositoryError) else app.repository
        if error.reason in _TRANSIENT and repository is not None:
            return (fact, RefreshRepository(repository=repository))
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
