"""Syncs: the executors of sync and rollback, to the desired state and to a history entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.bridge.tasks.executors.desired_state import deployed_before
from agent.bridge.tasks.executors.operations import SyncOperations
from agent.bridge.tasks.executors.overrides import Overrides, check_options
from agent.bridge.tasks.executors.task_subjects import TaskSubjects
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.similar_names import similar_names
from bus.events import SyncApp
from bus.identity import ResourceKey
from bus.link import LinkTask, RollbackArguments, SyncArguments
from handlers.application.application import Application
from handlers.application.argo_parameters import PARAMETERS, REPLACE_ALLOWED
from handlers.application.argo_settings import ArgoSettings
from handlers.application.policy import auto_sync, sync_options_of_app
from handlers.application.revisions import Revisions
from handlers.application.spec import SyncResource
from handlers.manifest.options import parse_sync_options
from handlers.sync.resource_selection import ANY, in_words, selects_nothing

_SHOWN = 5
"""Objects that a refusal names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncExecutor:
    subjects: TaskSubjects
    overrides: Overrides
    operations: SyncOperations
    settings: Callable[[], ArgoSettings]

    async def __call__(self, task: LinkTask, args: SyncArguments, context: TaskContext) -> object:
        check_options(args.options)
        app = self.subjects.app_of_command(task, context)
        check_replace(app, args.options, self.settings())
        reason = self.overrides.window_reason(app, args)
        revisions = await self.overrides.checked(app, args)
        if not (context.repeated or revisions.each):
            check_selection(app, args)
        command = SyncApp(
            id=task.id,
            actor=task.actor,
            app=app.key,
            revision=revisions.revision,
            revisions=revisions.revisions,
            prune=args.prune,
            dry_run=args.dry_run,
            resources=tuple(
                ResourceKey(one.group, one.kind, one.namespace, one.name) for one in args.resources
            ),
            options=args.options,
            from_control_plane=True,
            override_window=reason,
        )
        return await self.operations.operate(app, command, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackExecutor:
    subjects: TaskSubjects
    operations: SyncOperations

    async def __call__(
        self, task: LinkTask, args: RollbackArguments, context: TaskContext
    ) -> object:
        app = self.subjects.app_of_command(task, context)
        if app.deleting:
            raise TaskFailedError("conflict", f"{app.key} is being deleted")
        if auto_sync(app.spec) is not None and not context.repeated:
            text = (
                f"{app.key} syncs automatically, which would undo a rollback:"
                " set spec.syncPolicy.automated.enabled to false first"
            )
            raise TaskFailedError("conflict", text)
        revisions = Revisions.of(deployed_before(app, args.history_id))
        command = SyncApp(
            id=task.id,
            actor=task.actor,
            app=app.key,
            revision=revisions.revision,
            revisions=revisions.revisions,
            history_id=args.history_id,
            prune=args.prune,
            dry_run=args.dry_run,
            from_control_plane=True,
        )
        return await self.operations.operate(app, command, context)


def check_selection(app: Application, args: SyncArguments) -> None:
    """Raise TaskFailedError where the task selects objects, and the application has none of them.

    A sync that names a revision may select what only that revision has. A status that has no room
    for all objects, or none yet, says nothing.
    """
    known = app.status.resources
    written = tuple(
        SyncResource(group=it.group, kind=it.kind, namespace=it.namespace, name=it.name)
        for it in args.resources
    )
    if not known or app.status.resources_total > len(known):
        return
    if not selects_nothing((one.key for one in known), written):
        return
    wanted = next((one.name for one in written if one.name != ANY), "")
    names = similar_names(wanted, sorted({one.name for one in known}))
    shown = [str(one.key) for one in known if one.name in names][:_SHOWN]
    text = (
        f"no object of {app.key} is selected by {in_words(written)}; there are, for example,"
        f" {', '.join(shown)}; refresh the application first where a commit has just brought it"
    )
    raise TaskFailedError("not_found", text)


def check_replace(app: Application, options: Sequence[str], settings: ArgoSettings) -> None:
    """Raise TaskFailedError where the sync replaces and the settings forbid that over the API.

    Options of a task stand in place of those of the Application, which may replace too.
    """
    effective = parse_sync_options(options) if options else sync_options_of_app(app)
    if effective.replace and not settings.replace_allowed:
        text = f"a sync with Replace=true is switched off by {REPLACE_ALLOWED} of {PARAMETERS}"
        raise TaskFailedError("not_allowed", text)
