"""Commands: the executors of refresh and terminate, and the publisher of every task's command.

The id of the task is the id of the command and of its message, so that a task that was cut off by a
restart publishes nothing twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.bridge.tasks.executors.task_subjects import TaskSubjects
from agent.bridge.tasks.task_context import TaskContext
from bus.events import Event, RefreshNow, TerminateOperation
from bus.jetstream import Bus
from bus.link import LinkTask, RefreshArguments, TerminateArguments


@dataclass(frozen=True, slots=True)
class CommandPublisher:
    bus: Bus

    async def publish(self, command: Event, message_id: str, context: TaskContext) -> None:
        """The trace of the command is that of the task. Raises CarrierError."""
        await self.bus.publish(command, message_id=message_id, trace=context.trace)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshExecutor:
    subjects: TaskSubjects
    commands: CommandPublisher

    async def __call__(
        self, task: LinkTask, args: RefreshArguments, context: TaskContext
    ) -> object:
        app = self.subjects.app_of_command(task, context)
        command = RefreshNow(id=task.id, actor=task.actor, app=app.key, hard=args.hard)
        await self.commands.publish(command, task.id, context)
        return {"accepted": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminateExecutor:
    subjects: TaskSubjects
    commands: CommandPublisher

    async def __call__(
        self, task: LinkTask, _args: TerminateArguments, context: TaskContext
    ) -> object:
        app = self.subjects.app_of_command(task, context)
        command = TerminateOperation(id=task.id, actor=task.actor, app=app.key)
        await self.commands.publish(command, task.id, context)
        return {"accepted": True}
