"""A sync task ends with its operation, woken by the status, by the fact or by a deletion."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import msgspec
import pytest

from agent.bridge.reporting.finished_operations import FinishedOperations
from agent.bridge.tasks.executors.commands import CommandPublisher
from agent.bridge.tasks.executors.operations import OperationWait, SyncOperations
from agent.bridge.tasks.running_task import TaskStream
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.bridge.tasks.task_traces import TaskTraces
from agent.store.applications import Applications
from bus.events import OperationFinished, SyncApp
from bus.identity import AppKey, Revision
from bus.metadata_keys import COMMANDS
from bus.status import OperationPhase
from handlers.sync.operation_info import COMMAND_ID

WEB = AppKey("argocd", "web")
COMMAND = SyncApp(id="c1", actor="ann", app=WEB)


class WaitFixture:
    """An index with the application `web`, and a task that waits for its command `c1`."""

    def __init__(self) -> None:
        self.applications = Applications(cast("Any", None))
        self.finished = FinishedOperations()
        self.applications.indexed.subscribe(
            lambda _kind, subject: self.finished.changes.notify(subject)
        )
        self.messages: asyncio.Queue[str] = asyncio.Queue()
        self._version = 0
        self.status({})

    def status(self, operation_state: Mapping[str, Any]) -> None:
        self._put(status={"operationState": operation_state} if operation_state else {})

    def request(self, command: str) -> None:
        """The operation as a sync command writes it; the agent has not begun to act on it."""
        self._put(operation=operation_of(command), annotations={COMMANDS.name: command})

    def _put(
        self, *, annotations: Mapping[str, str] | None = None, **fields: Mapping[str, Any]
    ) -> None:
        self._version += 1
        metadata = {
            "name": WEB.name,
            "namespace": WEB.namespace,
            "uid": "u",
            "resourceVersion": str(self._version),
            "annotations": annotations or {},
        }
        body = {"metadata": metadata, "spec": {}, **fields}
        self.applications.put_application(msgspec.json.encode(body))

    def context(self, *, repeated: bool = False) -> TaskContext:
        stream = TaskStream("t", None)
        return TaskContext(began="", repeated=repeated, progress=self.messages.put, stream=stream)

    def operations(self) -> SyncOperations:
        return SyncOperations(
            applications=self.applications,
            finished_operations=self.finished,
            commands=CommandPublisher(cast("Any", None)),
            traces=TaskTraces(),
        )

    def wait(self) -> OperationWait:
        return OperationWait(
            applications=self.applications,
            finished_operations=self.finished,
            commands=CommandPublisher(cast("Any", None)),
            task_context=self.context(),
            command=COMMAND,
        )


def operation_of(command: str) -> Mapping[str, Any]:
    return {"sync": {}, "info": [{"name": COMMAND_ID, "value": command}]}


def state(phase: str, command: str = "c1", **more: str) -> Mapping[str, Any]:
    operation = operation_of(command)
    return {"phase": phase, "startedAt": "2026-01-01T00:00:00Z", "operation": operation, **more}


async def test_a_repeated_task_waits_for_its_operation_that_nobody_began() -> None:
    """As `kill -9` leaves it between the request of the operation and its first state."""
    fixture = WaitFixture()
    fixture.request(COMMAND.id)
    app = fixture.applications.get(WEB)
    assert app is not None
    work = fixture.operations().operate(app, COMMAND, fixture.context(repeated=True))
    outcome = asyncio.ensure_future(work)
    assert await fixture.messages.get() == "about to begin"
    fixture.status(state("Succeeded", finishedAt="2026-01-01T00:00:09Z"))
    ended = await asyncio.wait_for(outcome, 60)
    assert cast("Any", ended)["phase"] == "Succeeded"


async def test_progress_and_end_are_read_from_the_status() -> None:
    fixture = WaitFixture()
    outcome = asyncio.ensure_future(fixture.wait().outcome())
    assert await fixture.messages.get() == "accepted"
    fixture.status(state("Running", message="wave 1"))
    assert await fixture.messages.get() == "Running: wave 1"
    fixture.status(state("Succeeded", finishedAt="2026-01-01T00:00:09Z"))
    ended = await asyncio.wait_for(outcome, 60)
    assert (ended["phase"], ended["finishedAt"]) == ("Succeeded", "2026-01-01T00:00:09Z")


async def test_the_fact_counts_where_another_operation_is_in_the_status() -> None:
    fixture = WaitFixture()
    outcome = asyncio.ensure_future(fixture.wait().outcome())
    assert await fixture.messages.get() == "accepted"
    fixture.status(state("Running", command="another"))
    assert await fixture.messages.get() == "waits for another operation"
    fixture.finished.add(finished(OperationPhase.SUCCEEDED))
    ended = await asyncio.wait_for(outcome, 60)
    assert ended == {"phase": OperationPhase.SUCCEEDED, "message": "", "revision": "abc"}


async def test_a_failed_operation_fails_the_task() -> None:
    fixture = WaitFixture()
    fixture.finished.add(finished(OperationPhase.FAILED, message="no such namespace"))
    with pytest.raises(TaskFailedError, match="no such namespace") as caught:
        await fixture.wait().outcome()
    assert caught.value.code == "failed"


async def test_a_deleted_application_ends_the_task() -> None:
    fixture = WaitFixture()
    outcome = asyncio.ensure_future(fixture.wait().outcome())
    assert await fixture.messages.get() == "accepted"
    fixture.applications.remove_application(WEB)
    with pytest.raises(TaskFailedError, match="argocd/web is gone"):
        await asyncio.wait_for(outcome, 60)


def finished(phase: OperationPhase, message: str = "") -> OperationFinished:
    return OperationFinished(
        app=WEB, operation="c1", phase=phase, revision=Revision("abc"), message=message
    )
