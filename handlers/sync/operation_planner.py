"""OperationPlanner: plans an operation anew, and looks at what became of its objects and hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from bus.identity import ResourceKey
from handlers.application.argo_settings import ArgoSettings
from handlers.application.deletion_approval import approved_since, remedy
from handlers.application.denials import denials
from handlers.application.policy import namespace_metadata
from handlers.application.sync_windows import windows_of
from handlers.comparison.comparison import Comparison, PairState
from handlers.control_plane.governance import Governance, is_from_control_plane
from handlers.manifest.tracking import app_identity
from handlers.ports import Apps, Clock, Clusters, LiveObject, LiveState
from handlers.sync.destination_namespace import (
    DestinationNamespace,
    destination_namespace,
    namespace_key,
    namespace_work,
    sets_pod_security,
)
from handlers.sync.hook_tasks import hook_work
from handlers.sync.left_out_results import left_out_results
from handlers.sync.live_hooks import judged, left_over, live_hooks
from handlers.sync.move import OperationView
from handlers.sync.observed_status import progress_of_steps
from handlers.sync.operation_results import ObjectProgress
from handlers.sync.operation_transitions import with_results
from handlers.sync.step_run import StepRun
from handlers.sync.sync_plan import SyncTask, failure_step, plan
from handlers.sync.sync_work import work_of
from handlers.sync.window_override import closed_window

_TOUCHED = (PairState.CHANGED, PairState.MISSING, PairState.EXTRA)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationPlanner:
    apps: Apps
    clusters: Clusters
    governance: Governance
    clock: Clock
    settings: Callable[[], ArgoSettings] = ArgoSettings

    def look(self, run: StepRun) -> tuple[StepRun, OperationView]:
        """Return the view, and the run with the results that are known without an act.

        Raises DestinationUnknownError, DestinationUnavailableError.
        """
        live = self.clusters.of(run.app.spec.destination).live
        comparison = self._permitted(run)
        identity = self._identity(run)
        approved = approved_since(run.app, run.state.started_at)
        work = work_of(comparison, run.sync, run.options, prunes_approved=approved)
        work = work.plus(namespace_work(self._namespace(run, live), run.comparison, run.options))
        hooks = hook_work(comparison, run.state)
        ended = () if run.sync.dry_run else judged(run.state, live.get, identity)
        again = left_out_results(run.state, work.tasks)
        if settled := (*work.settled, *hooks.settled, *ended, *again):
            run = replace(run, state=with_results(run.state, settled))
        tasks = (*work.tasks, *hooks.tasks)
        return run, self._view(run, tasks, live)

    def denied(self, run: StepRun, lives: Iterable[LiveObject]) -> dict[ResourceKey, str]:
        """The objects that the operation may not remove: by project as it is now, and by policy.

        Raises DestinationUnknownError, DestinationUnavailableError.
        """
        keys = tuple(one.key for one in lives)
        app = run.app
        registered = self.clusters.of(app.spec.destination).registered
        by_project = denials(app, self.apps.project(app.spec.project), keys, registered)
        return {**by_project, **self._owner_denials(run, keys)}

    def _owner_denials(self, run: StepRun, keys: tuple[ResourceKey, ...]) -> dict[ResourceKey, str]:
        """What the cluster's owner denies; more where the operation came over the link."""
        governance, from_link = self.governance, is_from_control_plane(run.state.operation)
        judge = governance.control_plane_denials if from_link else governance.denials
        return judge(run.app, keys)

    def _identity(self, run: StepRun) -> str:
        return app_identity(run.app.key, self.governance.control_namespace)

    def _view(self, run: StepRun, tasks: tuple[SyncTask, ...], live: LiveState) -> OperationView:
        steps = plan(tasks)
        now = self.clock.now()
        if run.sync.dry_run:
            return OperationView(steps=steps, now=now, remedy=remedy(run.app))
        get = live.get
        progress: Mapping[ResourceKey, ObjectProgress] = progress_of_steps(steps, get, live.kind)
        return OperationView(
            steps=steps,
            on_failure=failure_step(tasks),
            hooks=live_hooks(run.state, get, self._identity(run)),
            left_over=left_over(tasks, run.state, get, self._identity(run)),
            progress=progress,
            now=now,
            blocked=self._blocked(run),
            remedy=remedy(run.app),
        )

    def _namespace(self, run: StepRun, live: LiveState) -> DestinationNamespace:
        space = run.app.spec.destination.namespace
        may = self.governance.creates_namespace(run.app, run.state.operation, space)
        denied = self._denied_metadata(run) if may else ""
        tracking = self.settings().tracking
        return destination_namespace(
            run.app, run.options, live, may_write=may, tracking=tracking, denied=denied
        )

    def _denied_metadata(self, run: StepRun) -> str:
        """Why labels and annotations of the Namespace may not be written; empty where they may."""
        metadata = namespace_metadata(run.app, run.options)
        if metadata is None:
            return ""
        destination = run.app.spec.destination
        key = namespace_key(destination.namespace)
        found = self._owner_denials(run, (key,))
        if sets_pod_security(metadata):
            project = self.apps.project(run.app.spec.project)
            found |= denials(run.app, project, (key,), self.clusters.registered(destination))
        return found.get(key, "")

    def _blocked(self, run: StepRun) -> str:
        """Why a sync window forbids the next act; the window timer asks for the step after it."""
        project = self.apps.project(run.app.spec.project)
        windows = windows_of(run.app, project, run.comparison.cluster)
        by_hand = not run.state.operation.initiated_by.automated
        problem = windows.problem(self.clock.now(), by_hand=by_hand, began=run.began)
        if problem:
            problem = closed_window(run.app, run.state.operation, problem, self.governance)
        return f"Sync operation blocked by sync window: {problem}" if problem else ""

    def _permitted(self, run: StepRun) -> Comparison:
        """Deny what the policy forbids the control plane, if the operation came over the link."""
        if not is_from_control_plane(run.state.operation):
            return run.comparison
        touched = {one.key for one in run.comparison.of(*_TOUCHED)} | run.comparison.hook_keys
        return run.comparison.denying(self.governance.control_plane_denials(run.app, touched))
