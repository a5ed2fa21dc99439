"""The handlers of Compared and RenderFailed: start a sync, say why not, or end an operation.

DecideHandler turns a comparison into a sync (StepOperation), or into a status that says why there
is none (SyncSkipped); the status is written only where it changes. FailOnRenderErrorHandler ends
an operation whose desired state cannot be rendered. The decisions are `sync_decision`'s, and
`step` takes them again before it acts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bus.events import Compared, Event, RefreshApp, RenderFailed, StepOperation, SyncSkipped
from bus.route import Retry
from bus.status import Reason, SyncStatus
from handlers.application.application import Application
from handlers.application.deletion_stage import finalizer_change
from handlers.application.revisions import Revisions
from handlers.application.status import ApplicationStatus
from handlers.comparison.comparison import Comparison
from handlers.comparison.reader import ComparisonReader
from handlers.health.cause import health_fact
from handlers.ports import (
    Apps,
    Clock,
    ClusterUnreachableError,
    DestinationUnavailableError,
    DestinationUnknownError,
    Renders,
    StaleWriteError,
    StatusWrite,
    UnavailableError,
)
from handlers.ports.render_record import RenderRecord
from handlers.sync.observed_status import observed
from handlers.sync.operation import sync_result
from handlers.sync.operation_transitions import failed_to_start, under_way
from handlers.sync.step_run import after_failure
from handlers.sync.sync_decision import SyncSkip, SyncStart, decide, is_operating
from handlers.sync.sync_input import sync_input

_AWAY = 5.0
_AGAIN = 0.5
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideHandler:
    apps: Apps
    comparisons: ComparisonReader
    clock: Clock

    async def __call__(self, fact: Compared) -> Sequence[Event]:
        app = self.apps.get(fact.app)
        if app is None or app.deleting or app.is_skipped:
            return ()
        if is_operating(app):
            return (StepOperation(app=app.key),)
        try:
            comparison = await self.comparisons.read(app)
            if comparison is None:
                return (RefreshApp(app=app.key),)
            return await self._decide(await self._with_finalizers(app, comparison), comparison)
        except (DestinationUnavailableError, DestinationUnknownError):
            return (RefreshApp(app=app.key),)  # which writes the condition, and waits
        except UnavailableError as error:
            raise Retry(str(error), after=_AWAY) from error
        except StaleWriteError as error:
            raise Retry(str(error), after=_AGAIN) from error

    async def _with_finalizers(self, app: Application, comparison: Comparison) -> Application:
        """Set the finalizers by which hooks of a deletion are waited for, or remove them."""
        change = finalizer_change(app, comparison.hooks)
        if not (change.add or change.remove):
            return app
        write = StatusWrite(
            status=app.status,
            add_finalizers=change.add,
            remove_finalizers=change.remove,
            guarded=True,
        )
        return await self.apps.write(app, write)

    async def _decide(self, app: Application, comparison: Comparison) -> Sequence[Event]:
        project = self.apps.project(app.spec.project)
        answer = decide(app, sync_input(app, project, comparison), self.clock.now())
        if isinstance(answer, SyncStart):
            return (StepOperation(app=app.key),)
        status = self._status(app, comparison, answer)
        events = (
            *health_fact(app, status, self.comparisons.clusters.of(app.spec.destination).live),
            *_skipped(app, comparison, answer),
        )
        await self.apps.write(app, StatusWrite(status=status, events=events))
        if answer.look_again:
            raise Retry(answer.message, after=answer.look_again, emit=events)
        return events

    def _status(
        self, app: Application, comparison: Comparison, answer: SyncSkip
    ) -> ApplicationStatus:
        """The status to write; while the desired state is not known, the last known one stays."""
        if answer.reason is Reason.CONDITIONS_BLOCK:
            return app.status
        error = answer.message if answer.is_error else ""
        project = self.apps.project(app.spec.project)
        return observed(app, project, comparison, self.clock.now(), error)


def _skipped(app: Application, comparison: Comparison, answer: SyncSkip) -> tuple[SyncSkipped, ...]:
    """The fact that nothing is synced although something differs; none where nothing does."""
    if comparison.status is SyncStatus.SYNCED:
        return ()
    return (
        SyncSkipped(
            app=app.key,
            project=app.spec.project,
            reason=answer.reason,
            message=answer.message,
            revision=comparison.record.revision,
            revisions=comparison.record.revisions.in_fact,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FailOnRenderErrorHandler:
    """Fails an operation whose desired state cannot be rendered.

    An operation that was rendered before goes on: it does not need the repository any more. But it
    ends where its commits are not proven (any more): nothing further may be applied of them.
    """

    apps: Apps
    renders: Renders
    is_proven: Callable[[Application, RenderRecord], bool]
    """Whether the sources of a render are proven as it is demanded now."""
    clock: Clock

    async def __call__(self, fact: RenderFailed) -> Sequence[Event]:
        app = self.apps.get(fact.app)
        if app is None or app.deleting or app.is_skipped:
            return ()
        unproven = fact.reason is Reason.SOURCE_UNPROVEN
        if _names_another(app, fact) or self._is_rendered(app):
            return ()
        final = unproven or fact.reason is Reason.INVALID_SPEC
        state = failed_to_start(app, fact.message, self.clock.now(), final=final)
        if state is None:
            return ()
        status = replace(app.status, operation_state=state)
        events = after_failure(app, state)
        change = StatusWrite(status=status, clear_operation=True, events=events)
        try:
            await self.apps.write(app, change)
        except ClusterUnreachableError as error:
            raise Retry(str(error), after=_AWAY) from error
        return events

    def _is_rendered(self, app: Application) -> bool:
        state, record = under_way(app), self.renders.recall(app.key)
        if state is None or record is None:
            return False
        return Revisions.of(sync_result(state)) == record.revisions and self.is_proven(app, record)


def _names_another(app: Application, fact: RenderFailed) -> bool:
    """Whether the requested operation names another commit than the one that failed before it."""
    if app.operation is None or app.operation.sync is None or under_way(app) is not None:
        return False
    named = app.operation.sync.revision
    return bool(_COMMIT.fullmatch(named) and fact.revision and fact.revision != named)
