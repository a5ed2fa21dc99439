"""OperationStarter: which operation the next step of an Application belongs to.

    under way   requested (`.operation`)   next
    no          no                         a new one, if the sync policy wants one now
    no          yes                        the requested one, if it can be done
    yes         any                        the one under way goes on; a requested one comes after it
    yes, waiting for a retry that nobody   it ends, and the rows above hold instead;
      wants any more, or that is held      its end is written before a requested one

A desired state that is not rendered yet is asked for: RefreshApp -> ManifestsRendered -> Compared
-> StepOperation leads back here. `decide` has been asked before, by the handler of Compared, and is
asked again on purpose: between the two anything may have changed, and only this answer acts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bus.events import Event, RefreshApp
from bus.identity import Revision
from bus.status import ConditionType, OperationPhase
from handlers.application import times
from handlers.application.application import Application
from handlers.application.desired_source import (
    are_moved,
    as_desired,
    desired_sources,
    pinned_revisions,
)
from handlers.application.operation_problems import operation_problem
from handlers.application.revisions import Revisions, one_for_each
from handlers.application.spec import Operation, Source
from handlers.application.status import OperationState, blocking
from handlers.application.sync_windows import windows_of
from handlers.comparison.comparison import Comparison
from handlers.comparison.reader import ComparisonReader
from handlers.control_plane.governance import Governance
from handlers.ports import Apps, Clock, RepositoryError, Sources, StatusWrite
from handlers.ports.render_record import RenderRecord
from handlers.sync.operation_transitions import (
    begun,
    failed_to_start,
    held,
    is_superseded,
    repinned,
    superseded,
    under_way,
    waits_for_retry,
)
from handlers.sync.step_run import StepRun, after_failure, started
from handlers.sync.sync_decision import SyncStart, decide, hold
from handlers.sync.sync_input import sync_input
from handlers.sync.window_override import closed_window


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationStarter:
    apps: Apps
    comparisons: ComparisonReader
    sources: Sources
    is_proven: Callable[[Application, RenderRecord], bool]
    """Whether the sources of a render are proven as it is demanded now."""
    governance: Governance
    clock: Clock

    async def next(self, app: Application) -> StepRun | Sequence[Event]:
        """Return the run to carry on, or the events that follow where there is nothing to run."""
        comparison, state = await self.comparisons.read(app), under_way(app)
        if comparison is None:
            return (RefreshApp(app=app.key),)
        is_ending = state is not None and state.phase == OperationPhase.TERMINATING
        if not is_ending and not self.is_proven(app, comparison.record):
            return (RefreshApp(app=app.key),)
        ended = self._ended_retry(app, state, comparison) if state is not None else None
        if state is not None and ended is None:
            return self._resume(app, state, comparison)
        if app.operation is None:
            return await self._by_policy(app, ended, comparison)
        if ended is not None:
            # While its state stands the requested operation pins nothing, so it ends first.
            return await self._end(app, ended)
        return await self._by_request(app, app.operation, comparison)

    def _ended_retry(
        self, app: Application, state: OperationState, comparison: Comparison
    ) -> OperationState | None:
        """End an automated operation whose retry is pointless or held; None where it goes on.

        Superseded: Git has a newer revision, or the spec has other sources. Held: something must
        not be synced automatically until a person acts. One that a person asked for goes on.
        """
        if not waits_for_retry(state):
            return None
        newest = comparison.record.revisions
        if is_superseded(state, newest) or are_moved(app.spec, state):
            return superseded(state, newest)
        project = self.apps.project(app.spec.project)
        obstacle = hold(app, sync_input(app, project, comparison))
        return held(state, obstacle.message) if obstacle else None

    def _resume(
        self, app: Application, state: OperationState, comparison: Comparison
    ) -> StepRun | Sequence[Event]:
        """Carry on with the operation under way, once its own revision is the one compared.

        One that is ending, or that waits for its retry, applies nothing now: it must not wait for
        the comparison of a revision that perhaps cannot be rendered any more.
        """
        if not Revisions.of(state.sync_result):
            state = repinned(state, comparison.record.revisions, as_desired(app).spec)
        began = times.read(state.started_at) or self.clock.now()
        run = StepRun(app=app, state=state, comparison=comparison, began=began, resumed=True)
        is_compared = run.revisions == comparison.record.revisions
        applies_nothing = state.phase == OperationPhase.TERMINATING or state.finished_at
        return run if is_compared or applies_nothing else (RefreshApp(app=app.key),)

    async def _by_policy(
        self, app: Application, ended: OperationState | None, comparison: Comparison
    ) -> StepRun | Sequence[Event]:
        """Start what the sync policy wants now; `ended` is the operation that it replaces."""
        known = app
        if ended is not None:
            # The decision must see the ended operation, not the one that still waits.
            known = replace(app, status=replace(app.status, operation_state=ended))
        project = self.apps.project(app.spec.project)
        answer = decide(known, sync_input(app, project, comparison), self.clock.now())
        if isinstance(answer, SyncStart) and _is_of_desired(app, comparison):
            return _after(ended, self._begin(app, answer.operation, comparison))
        if ended is not None:
            return await self._end(app, ended)
        return (RefreshApp(app=app.key),) if isinstance(answer, SyncStart) else ()

    async def _end(self, app: Application, ended: OperationState) -> Sequence[Event]:
        """Write the end of an operation; the refresh after it leads to what comes next."""
        events = after_failure(app, ended)
        status = replace(app.status, operation_state=ended)
        await self.apps.write(app, StatusWrite(status=status, events=events))
        return events

    async def _by_request(
        self, app: Application, requested: Operation, comparison: Comparison
    ) -> StepRun | Sequence[Event]:
        """Start the operation in `.operation`, or end it with the reason why it cannot start."""
        problem = operation_problem(app, requested) or self._window_problem(
            app, requested, comparison
        )
        if problem:
            return await self.cannot_start(app, problem, final=True)
        try:
            revisions = await self._requested(app, requested, comparison)
        except RepositoryError as error:
            return await self.cannot_start(app, error.message)
        # Other revisions or sources than those compared must be rendered first; see desired_source.
        if revisions != comparison.record.revisions or not _is_of_desired(app, comparison):
            return (RefreshApp(app=app.key),)
        blocks = blocking(app.status.conditions)
        if blocks:
            message = f"{blocks[0].type}: {blocks[0].message}"
            final = blocks[0].type == ConditionType.INVALID_SPEC_ERROR
            if pinned_revisions(app) and not final:
                return (RefreshApp(app=app.key),)  # the error may be of the target revision only
            return await self.cannot_start(app, message, final=final)
        run = self._begin(app, requested, comparison)
        return replace(run, taken=requested)

    async def _requested(
        self, app: Application, requested: Operation, comparison: Comparison
    ) -> Revisions:
        """Resolve the revisions that the operation names; for others, those compared hold."""
        compared, sync = comparison.record.revisions, requested.sync
        sources = as_desired(app).sources
        if sync is None or len(compared.each) != len(sources):
            return compared
        named = one_for_each(sync.revisions or (sync.revision,), len(sources))
        found = [
            await self._resolved(app, source, name) if name else known
            for source, name, known in zip(sources, named, compared.each, strict=True)
        ]
        if compared.revisions:
            return Revisions(revisions=tuple(found))
        return Revisions(found[0])

    async def _resolved(self, app: Application, source: Source, name: str) -> Revision:
        repository = self.sources.access(source, app.spec.project)
        return await self.sources.resolve(repository, name)

    def _window_problem(
        self, app: Application, requested: Operation, comparison: Comparison
    ) -> str:
        """Why sync windows forbid the operation; a dry run changes nothing and is allowed.

        An automated one, as a rolling ApplicationSet requests it, begins and waits for its window.
        """
        is_dry = requested.sync is not None and requested.sync.dry_run
        if is_dry or requested.initiated_by.automated:
            return ""
        windows = windows_of(app, self.apps.project(app.spec.project), comparison.cluster)
        problem = windows.problem(self.clock.now(), by_hand=True)
        return problem and closed_window(app, requested, problem, self.governance)

    def _begin(self, app: Application, operation: Operation, comparison: Comparison) -> StepRun:
        now = self.clock.now()
        state = begun(app, operation, comparison.record.revisions, now)
        run = StepRun(app=app, state=state, comparison=comparison, began=now)
        return run.emit(started(run))

    async def cannot_start(
        self, app: Application, message: str, *, final: bool = False
    ) -> Sequence[Event]:
        """End the operation with an error; `final`: without a retry, whatever its policy says."""
        state = failed_to_start(app, message, self.clock.now(), final=final)
        if state is None:
            return ()
        status = replace(app.status, operation_state=state)
        events = after_failure(app, state)
        await self.apps.write(app, StatusWrite(status=status, clear_operation=True, events=events))
        return events


def _is_of_desired(app: Application, comparison: Comparison) -> bool:
    """Whether the render is of the sources that are to be deployed, and not of earlier ones."""
    return comparison.record.desired_sources == desired_sources(app)


def _after(ended: OperationState | None, run: StepRun) -> StepRun:
    """Let a run that replaces an ended operation publish the end of that operation first."""
    if ended is None:
        return run
    end, *_ = after_failure(run.app, ended)
    return replace(run, facts=(end, *run.facts))
