"""Writes: the executors of put and delete, which hand each object to the writer of its kind."""

from __future__ import annotations

from dataclasses import dataclass

from agent.bridge.tasks.executors.connections import ConnectionWriter
from agent.bridge.tasks.executors.written_objects import ObjectWriter, is_custom_resource
from agent.bridge.tasks.task_context import TaskContext
from agent.bridge.tasks.task_namespaces import write_target
from bus.link import DeleteArguments, LinkTask, PutArguments


@dataclass(frozen=True, slots=True, kw_only=True)
class PutExecutor:
    objects: ObjectWriter
    connections: ConnectionWriter

    async def __call__(self, task: LinkTask, args: PutArguments, context: TaskContext) -> object:
        if args.manifest is None:
            return await self.connections.put(args)
        return await self.objects.put(task, args, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteExecutor:
    objects: ObjectWriter
    connections: ConnectionWriter

    async def __call__(self, task: LinkTask, args: DeleteArguments, context: TaskContext) -> object:
        target = write_target(task.subject, args, self.objects.cluster.namespace)
        if is_custom_resource(target.kind):
            return await self.objects.delete(task, args, context)
        return await self.connections.delete(task, target.kind, target.name)
