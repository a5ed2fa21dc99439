"""Sync, rollback, refresh, terminate: tasks that become commands of the house.

The task's id is the command's id, and the operation carries it: a task that was cut off finds by it
what became of what it began. A sync is done when its operation is over.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from agent.bridge.doing import Doing, TaskFailedError
from agent.bridge.executor import arguments
from agent.bridge.executor.desired import deployed_before
from agent.bridge.executor.overrides import Overrides
from agent.bridge.executor.tools import Tools, app_key
from bus.events import Event, RefreshNow, SyncApp, TerminateOperation
from bus.identity import ResourceKey, Revision
from bus.link import Task, TaskPhase
from bus.status import OperationPhase
from handlers.application.application import Application
from handlers.application.policy import auto_sync
from handlers.application.status import OperationState
from handlers.command.handler import commands_of, is_known
from handlers.sync.transitions import COMMAND_ID, info_of

_LOOK_SECONDS = 0.25
_UNHEARD_SECONDS = 60.0
_ENDED = (OperationPhase.SUCCEEDED, OperationPhase.FAILED, OperationPhase.ERROR)


@dataclass(frozen=True, slots=True)
class Commands:
    tools: Tools

    async def sync(self, task: Task, doing: Doing) -> object:
        said = arguments.read(task, arguments.Sync)
        arguments.check_options(said)
        app = self._subject(task, doing)
        revision = await Overrides(self.tools).checked(app, said)
        resources = tuple(
            ResourceKey(one.group, one.kind, one.namespace, one.name) for one in said.resources
        )
        command = SyncApp(
            id=task.id,
            actor=task.actor,
            app=app.key,
            revision=revision,
            prune=said.prune,
            dry_run=said.dry_run,
            resources=resources,
            options=said.options,
            from_control_plane=True,
        )
        return await self._operate(app, command, doing)

    async def rollback(self, task: Task, doing: Doing) -> object:
        """To what an entry of the history deployed: its revision, its source and parameters."""
        said = arguments.read(task, arguments.Rollback)
        app = self._subject(task, doing)
        if auto_sync(app.spec) is not None and not doing.repeated:
            text = (
                f"{app.key} syncs by itself and would undo a rollback:"
                " set spec.syncPolicy.automated.enabled to false first"
            )
            raise TaskFailedError("conflict", text)
        command = SyncApp(
            id=task.id,
            actor=task.actor,
            app=app.key,
            revision=Revision(deployed_before(app, said.history_id).revision),
            history_id=said.history_id,
            prune=said.prune,
            dry_run=said.dry_run,
            from_control_plane=True,
        )
        return await self._operate(app, command, doing)

    async def refresh(self, task: Task, doing: Doing) -> object:
        said = arguments.read(task, arguments.Refresh)
        app = self._subject(task, doing)
        await self._publish(
            RefreshNow(id=task.id, actor=task.actor, app=app.key, hard=said.hard), task.id
        )
        return {"accepted": True}

    async def terminate(self, task: Task, doing: Doing) -> object:
        app = self._subject(task, doing)
        command = TerminateOperation(id=task.id, actor=task.actor, app=app.key)
        await self._publish(command, task.id)
        return {"accepted": True}

    def _subject(self, task: Task, doing: Doing) -> Application:
        """What was begun before may itself have changed what the precondition is about."""
        if not doing.repeated:
            return self.tools.app(task)
        app = self.tools.applications.get(app_key(task))
        if app is None:
            raise TaskFailedError("not_found", f"there is no application {task.subject}")
        return app

    async def _operate(self, app: Application, command: SyncApp, doing: Doing) -> object:
        overtaken = _told(app, command.id) is None and command.id in commands_of(app)
        if doing.repeated and overtaken and self.tools.endings.of(command.id) is None:
            text = "cut off, and another operation ran since: whether it was done is not known"
            raise TaskFailedError("failed", text, phase=TaskPhase.UNKNOWN)
        if not is_known(app, command.id):
            await self._publish(command, command.id)
        return await self._until_over(command, doing)

    async def _until_over(self, command: SyncApp, doing: Doing) -> object:
        told, loop, terminated = "", asyncio.get_running_loop(), False
        wanted = loop.time()
        while True:
            app = self.tools.applications.get(command.app)
            if app is None:
                raise TaskFailedError("not_found", f"{command.app} is gone")
            state = _told(app, command.id)
            body = self._end(state, command.id)
            if body is not None:
                return _judged(body, cancelled=terminated)
            if state is not None and doing.cancelled() and not terminated:
                terminated = True
                await self._terminate(command)
            message = _message(app, state, command.id)
            if message != told:
                told, wanted = message, loop.time()
                await doing.progress(message)
            if state is None and not _waits(app) and loop.time() - wanted > _UNHEARD_SECONDS:
                raise TaskFailedError("failed", "no operation was begun within a minute")
            await asyncio.sleep(_LOOK_SECONDS)

    def _end(self, state: OperationState | None, command_id: str) -> dict[str, Any] | None:
        """Where another operation stands in the status already, the fact of the end is left."""
        if state is not None:
            over = state.phase in _ENDED and bool(state.finished_at)
            return _outcome(state) if over else None
        ended = self.tools.endings.of(command_id)
        if ended is None:
            return None
        return {"phase": ended.phase, "message": ended.message, "revision": ended.revision}

    async def _terminate(self, command: SyncApp) -> None:
        once = f"{command.id}:cancel"
        await self._publish(TerminateOperation(id=once, actor=command.actor, app=command.app), once)

    async def _publish(self, event: Event, message_id: str) -> None:
        await self.tools.bus.publish(event, message_id=message_id)


def _told(app: Application, command_id: str) -> OperationState | None:
    """The operation that carries the command's id, once it is under way or over."""
    state = app.status.operation_state
    if state is not None and info_of(state.operation, COMMAND_ID) == command_id:
        return state
    return None


def _waits(app: Application) -> bool:
    """An operation is wanted or under way, ours or one before ours."""
    state = app.status.operation_state
    return app.operation is not None or (state is not None and state.phase not in _ENDED)


def _message(app: Application, state: OperationState | None, command_id: str) -> str:
    if state is not None:
        return f"{state.phase}: {state.message}".strip(": ")
    if app.operation is not None and info_of(app.operation, COMMAND_ID) == command_id:
        return "about to begin"
    return "waits for another operation" if _waits(app) else "accepted"


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
