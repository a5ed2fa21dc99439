"""The rows of the table of executors for single live objects: actions, edits, deletion, shells."""

from __future__ import annotations

from collections.abc import Mapping

from agent.bridge.tasks.live_objects.action_evaluator import ActionEvaluator
from agent.bridge.tasks.live_objects.actions import ActionsExecutor, RunActionExecutor
from agent.bridge.tasks.live_objects.changes import (
    DeleteObjectExecutor,
    EditObjectExecutor,
    ObjectPreviewExecutor,
)
from agent.bridge.tasks.live_objects.task_object import TaskObjects
from agent.bridge.tasks.shells.shell_executor import ShellExecutor
from agent.bridge.tasks.shells.shell_session import ShellLimits
from agent.bridge.tasks.task_context import Executor, executor_of
from bus.link import (
    ActionsArguments,
    DeleteObjectArguments,
    EditObjectArguments,
    ExecArguments,
    ObjectPreviewArguments,
    RunActionArguments,
    TaskKind,
)
from sandbox.client import Sandbox


def live_object_executors(
    found: TaskObjects, sandbox: Sandbox, shell_limits: ShellLimits
) -> Mapping[TaskKind, Executor]:
    """Make the executors of tasks about one live object."""
    objects, redaction, settings = found.objects, found.redaction, found.comparisons.settings
    evaluator = ActionEvaluator(sandbox=sandbox, scripts=lambda: settings().action_scripts)
    preview = ObjectPreviewExecutor(objects=found, evaluator=evaluator, redaction=redaction)
    run = RunActionExecutor(objects=found, evaluator=evaluator)
    edit = EditObjectExecutor(objects=found, redaction=redaction)
    shell = ShellExecutor(objects=found, visible=objects, limits=shell_limits)
    return dict(
        (
            executor_of(ActionsArguments, ActionsExecutor(objects=found, evaluator=evaluator)),
            executor_of(ObjectPreviewArguments, preview),
            executor_of(RunActionArguments, run),
            executor_of(EditObjectArguments, edit),
            executor_of(DeleteObjectArguments, DeleteObjectExecutor(objects=found)),
            executor_of(ExecArguments, shell),
        )
    )
