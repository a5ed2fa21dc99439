"""SyncOperations: begins the operation of a sync or rollback, and waits for its end.

The id of the task is the id of the command, and the operation carries that id: a task that was cut
off by a restart finds the operation that it began. A sync or rollback ends with its operation.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from agent.bridge.reporting.finished_operations import FinishedOperations
from agent.bridge.tasks.executors.commands import CommandPublisher
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.bridge.tasks.task_traces import TaskTraces
from agent.store.applications import Applications
from bus.events import SyncApp, TerminateOperation
from bus.link import TaskPhase
from bus.status import OperationPhase
from handlers.application.application import SKIP_RECONCILE, Application
from handlers.application.status import OperationState
from handlers.command import commands_of, is_known
from handlers.sync.operation_info import COMMAND_ID, info_of

_BEGIN_SECONDS = 60.0
"""Within which an operation must be requested or running, ours or one before ours."""
_ENDED = (OperationPhase.SUCCEEDED, OperationPhase.FAILED, OperationPhase.ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOperations:
    applications: Applications
    finished_operations: FinishedOperations
    commands: CommandPublisher
    traces: TaskTraces

    async def operate(self, app: Application, command: SyncApp, context: TaskContext) -> object:
        """Return how the operation succeeded; raises TaskFailedError if it did not."""
        if app.is_skipped:
            text = f"{app.key} has the annotation {SKIP_RECONCILE}: nothing is done until it goes"
            raise TaskFailedError("conflict", text)
        with self.traces.of_operation(app.key, context.trace):
            return await self._operated(app, command, context)

    async def _operated(self, app: Application, command: SyncApp, context: TaskContext) -> object:
        if context.repeated and self._is_overtaken(app, command.id):
            text = "cut off, and another operation ran since: whether it was done is not known"
            raise TaskFailedError("failed", text, phase=TaskPhase.UNKNOWN)
        if not is_known(app, command.id):
            await self.commands.publish(command, command.id, context)
        return await OperationWait(
            applications=self.applications,
            finished_operations=self.finished_operations,
            commands=self.commands,
            task_context=context,
            command=command,
        ).outcome()

    def _is_overtaken(self, app: Application, command_id: str) -> bool:
        """Whether the command was carried out, and nothing remembers how its operation ended."""
        if _is_requested(app, command_id):
            return False
        known = operation_state(app, command_id) or self.finished_operations.get(command_id)
        return known is None and command_id in commands_of(app)


@dataclass(slots=True, kw_only=True)
class OperationWait:
    """Waits from a published sync command to the end of the operation with its id.

    A task is woken by each change of its Application, by the fact that an operation finished,
    and by its own cancellation; in between nothing runs. The status of the Application is read
    first, because it holds the results of each object. The fact counts where the status shows
    another operation already: one that began right after ours ended.
    """

    applications: Applications
    finished_operations: FinishedOperations
    commands: CommandPublisher
    task_context: TaskContext
    command: SyncApp
    _message: str = ""
    _begin_until: float = 0.0
    """By the event loop's clock."""
    _terminated: bool = False

    async def outcome(self) -> dict[str, Any]:
        """Return how the operation succeeded; raises TaskFailedError if it did not."""
        self._begin_until = asyncio.get_running_loop().time() + _BEGIN_SECONDS
        changes = self.finished_operations.changes
        with changes.subscribe(str(self.command.app)) as changed:
            self.task_context.cancellation.subscribe(changed)
            while (body := await self._step(changed)) is None:
                pass
        return _judged(body, cancelled=self._terminated)

    async def _step(self, changed: asyncio.Event) -> dict[str, Any] | None:
        """Return the end if there is one; otherwise report progress and wait for a change."""
        changed.clear()
        app = self.applications.get(self.command.app)
        if app is None:
            raise TaskFailedError("not_found", f"{self.command.app} is gone")
        state = operation_state(app, self.command.id)
        body = self._end(state)
        if body is not None:
            return body
        if state is not None and self.task_context.cancellation.requested:
            await self._terminate()
        await self._report(_message(app, state, self.command.id))
        await self._wait(changed, begun=state is not None or _is_pending(app))
        return None

    def _end(self, state: OperationState | None) -> dict[str, Any] | None:
        if state is not None:
            over = state.phase in _ENDED and bool(state.finished_at)
            return _outcome(state) if over else None
        fact = self.finished_operations.get(self.command.id)
        if fact is None:
            return None
        return {"phase": fact.phase, "message": fact.message, "revision": fact.revision}

    async def _terminate(self) -> None:
        """Ask for the end of the operation, once: the task goes on until that end."""
        if self._terminated:
            return
        self._terminated = True
        message_id = f"{self.command.id}:cancel"
        terminate = TerminateOperation(
            id=message_id, actor=self.command.actor, app=self.command.app
        )
        await self.commands.publish(terminate, message_id, self.task_context)

    async def _report(self, message: str) -> None:
        if message != self._message:
            self._message = message
            self._begin_until = asyncio.get_running_loop().time() + _BEGIN_SECONDS
            await self.task_context.progress(message)

    async def _wait(self, changed: asyncio.Event, *, begun: bool) -> None:
        try:
            async with asyncio.timeout_at(None if begun else self._begin_until):
                await changed.wait()
        except TimeoutError:
            raise TaskFailedError("failed", "no operation was begun within a minute") from None


def operation_state(app: Application, command_id: str) -> OperationState | None:
    """The operation that carries the command's id, once it is running or over."""
    state = app.status.operation_state
    if state is not None and info_of(state.operation, COMMAND_ID) == command_id:
        return state
    return None


def _is_requested(app: Application, command_id: str) -> bool:
    """Whether the command's operation is written down, and none of its state is."""
    return app.operation is not None and info_of(app.operation, COMMAND_ID) == command_id


def _is_pending(app: Application) -> bool:
    """Whether an operation is requested or running, ours or one before ours."""
    state = app.status.operation_state
    return app.operation is not None or (state is not None and state.phase not in _ENDED)


def _message(app: Application, state: OperationState | None, command_id: str) -> str:
    if state is not None:
        return f"{state.phase}: {state.message}".strip(": ")
    if _is_requested(app, command_id):
        return "about to begin"
    return "waits for another operation" if _is_pending(app) else "accepted"


def _outcome(state: OperationState) -> dict[str, Any]:
    result = state.sync_result
    return {
        "phase": state.phase,
        "message": state.message,
        "revision": result.revision if result else "",
        "startedAt": state.started_at,
        "finishedAt": state.finished_at,
        "resources": list(result.resources if result else ()),
    }


def _judged(body: dict[str, Any], *, cancelled: bool) -> dict[str, Any]:
    if body["phase"] == OperationPhase.SUCCEEDED:
        return body
    message = body["message"] or str(body["phase"])
    if cancelled:
        raise TaskFailedError("cancelled", message, phase=TaskPhase.CANCELLED, body=body)
    raise TaskFailedError("failed", message, body=body)
