"""The executors that list the actions of a live object, and run one of them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from agent.bridge.tasks.live_objects.action_evaluator import ActionEvaluator
from agent.bridge.tasks.live_objects.object_writer import write_change
from agent.bridge.tasks.live_objects.task_object import TaskObject, TaskObjects
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.kube.errors import ConflictError
from bus.link import ActionsArguments, LinkTask, RunActionArguments, TaskPhase
from handlers.actions.action import ActionCall, ActionError
from handlers.actions.object_change import LiveObjectChange

_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionsExecutor:
    objects: TaskObjects
    evaluator: ActionEvaluator

    async def __call__(
        self, task: LinkTask, args: ActionsArguments, context: TaskContext
    ) -> object:
        found = await self.objects.find(task, args, context)
        return await self.evaluator.table(found.manifest, found.app.spec.project)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunActionExecutor:
    """Runs one action; where the object changes meanwhile, it is worked out anew."""

    objects: TaskObjects
    evaluator: ActionEvaluator

    async def __call__(
        self, task: LinkTask, args: RunActionArguments, context: TaskContext
    ) -> object:
        call = ActionCall(now=datetime.fromisoformat(context.began), params=args.params)
        for _ in range(_TRIES):
            with suppress(ConflictError):  # it changed meanwhile, and nothing was written
                return await self._once(task, args, context, call)
        subject = f"{args.kind} {args.name}"
        raise TaskFailedError("conflict", f"{subject} changes all the time: try again later")

    async def _once(
        self, task: LinkTask, args: RunActionArguments, context: TaskContext, call: ActionCall
    ) -> object:
        found = await self.objects.find(task, args, context)
        found.check_unchanged(args.uid)
        change = await planned(found, args.action, call, self.evaluator)
        self.objects.check_action(found, change.created_keys)
        if context.repeated and change:
            raise cut_off(found)
        created = await write_change(found, change)
        return {"changed": bool(change), "created": [str(key) for key in created]}


async def planned(
    found: TaskObject, action: str, call: ActionCall, evaluator: ActionEvaluator
) -> LiveObjectChange:
    """Work out and check what an action changes; raises TaskFailedError."""
    try:
        changes = await evaluator.changes(found.manifest, action, call, found.app.spec.project)
        return found.changed(changes)
    except ActionError as error:
        raise TaskFailedError("invalid", str(error)) from error


def cut_off(found: TaskObject) -> TaskFailedError:
    """The end of a task that was cut off, and whose change would change the object now."""
    text = f"the agent was restarted while it changed {found.key}: look at it, then repeat"
    return TaskFailedError("failed", text, phase=TaskPhase.UNKNOWN)
