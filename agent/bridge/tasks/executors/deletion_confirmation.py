"""ConfirmDeletionExecutor: approves the deletions of an application that wait for a person.

It writes the annotation that `kubectl annotate` would write, so the wait goes on or ends as with
Argo CD. Nothing is approved ahead: where nothing waits the task is refused. A deletion of an object
beyond the policy of the cluster's owner is not approved over the link.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from agent.bridge.cluster_state import ClusterState
from agent.bridge.tasks.executors.task_subjects import TaskSubjects
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from bus.identity import ResourceKey
from bus.link import ConfirmDeletionArguments, LinkTask
from bus.status import ConditionType
from handlers.application import times
from handlers.application.application import Application
from handlers.application.deletion_approval import DELETION_APPROVED
from handlers.application.status import of_type
from handlers.control_plane.governance import Governance, named
from handlers.manifest.options import Consent, sync_options_of
from handlers.sync.operation import PRUNE_WAITS
from handlers.sync.operation_transitions import under_way
from handlers.sync.sync_work import options_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmDeletionExecutor:
    subjects: TaskSubjects
    cluster: ClusterState
    governance: Governance

    async def __call__(
        self, task: LinkTask, _args: ConfirmDeletionArguments, context: TaskContext
    ) -> object:
        app = self.subjects.app_of_command(task, context)
        if not is_waiting(app) and not context.repeated:
            raise TaskFailedError("conflict", f"nothing of {app.key} waits for an approval")
        denials = self.governance.control_plane_denials(app, self._protected(app))
        if denials:
            text = f"the deletion of {app.key} is beyond: {named(denials)}"
            raise TaskFailedError("not_allowed", text)
        at = times.written(datetime.now(UTC))
        # The UID keeps an approval from an application of the same name that came meanwhile.
        metadata = {"uid": app.metadata.uid, "annotations": {DELETION_APPROVED: at}}
        path = f"/apis/argoproj.io/v1alpha1/namespaces/{app.key.namespace}/applications"
        await self.cluster.client.merge_patch(f"{path}/{app.key.name}", {"metadata": metadata})
        return {"approvedAt": at}

    def _protected(self, app: Application) -> Iterator[ResourceKey]:
        """The objects that this application tracks and that are not deleted without an approval."""
        state = under_way(app)
        options = options_of(app, state.operation.sync if state else None)
        of_deletion = options_of(app)
        session = self.cluster.clusters.of(app.spec.destination)
        for live in session.live.tracked(app.key):
            prune = sync_options_of(live.manifest, options).prune
            delete = sync_options_of(live.manifest, of_deletion).delete
            if Consent.CONFIRM in (prune, delete):
                yield live.key


def is_waiting(app: Application) -> bool:
    """Whether a prune or the deletion of the Application waits for an approval."""
    if app.deleting:
        found = of_type(app.status.conditions, ConditionType.DELETION_CONFIRMATION_WARNING)
        return bool(found)
    state = under_way(app)
    return state is not None and state.message.startswith(PRUNE_WAITS)
