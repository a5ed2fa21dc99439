"""StepRecord writes what a step has reached: the operation's state, and the status that follows."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from bus.status import OperationPhase
from handlers.application import history
from handlers.application.policy import namespace_differs
from handlers.application.status import ApplicationStatus, OperationState
from handlers.application.status_size import fitting_results
from handlers.comparison.reader import ComparisonReader
from handlers.health.cause import health_fact
from handlers.ports import Apps, Clock
from handlers.sync.observed_status import observed
from handlers.sync.step_run import StepRun, status_write


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    apps: Apps
    comparisons: ComparisonReader
    clock: Clock

    async def write(self, run: StepRun, state: OperationState) -> StepRun:
        """Write the status together with the facts that follow from it, health included."""
        session = self.comparisons.clusters.of(run.app.spec.destination)
        status = self._status(run, state)
        run = run.emit(*health_fact(run.app, status, session.live))
        await self.apps.write(run.app, status_write(run, status, session))
        return run

    def _status(self, run: StepRun, state: OperationState) -> ApplicationStatus:
        """The status with the operation; a dry run changes nothing but its own results."""
        state = fitting_results(state)
        if run.sync.dry_run or run.revisions != run.comparison.record.revisions:
            return replace(run.app.status, operation_state=state)
        failed = state.phase in (OperationPhase.FAILED, OperationPhase.ERROR)
        error = state.message if failed else ""
        project = self.apps.project(run.app.spec.project)
        known = replace(run.app, status=replace(run.app.status, operation_state=state))
        comparison = replace(run.comparison, namespace_differs=namespace_differs(known))
        status = observed(run.app, project, comparison, self.clock.now(), error)
        status = replace(status, operation_state=state)
        if state.phase == OperationPhase.SUCCEEDED and not run.sync.resources:
            kept = history.recorded(status.history, state, run.app.spec)
            return replace(status, history=kept)
        return status
