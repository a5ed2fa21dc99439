"""Tasks of agents, queries included: submitted once, waited for on demand, and printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import typer

from cli import output
from cli.output import Exit
from cli.remote import answers, command_runner, find, tables
from cli.remote.change_waiting import ChangeWait, ServerEvent
from cli.remote.errors import ServiceError
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import ApplicationDetail, TaskSummary

EXITS = (
    "Exit codes: 0 ordered, or done (--wait), 1 it failed, 2 wrong usage, 3 refused, 4 not allowed,"
    " 5 not done in time."
)
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait until the tasks have ended.")]
_ANY_VERSION = {"If-Match": "*"}
_MOST_IN_REQUEST = 500
"""Applications that the service takes in one bulk request."""


class TaskOutput(Protocol):
    """The options that every command with a task has."""

    @property
    def wait(self) -> bool: ...
    @property
    def timeout(self) -> str: ...
    @property
    def as_json(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRequest:
    """The change of a task in words: `application argocd/shop created`."""

    noun: str
    participle: str


async def submit_task(
    client: ServiceClient, path: str, body: object, method: str = "POST", *, version: str = ""
) -> dict[str, Any]:
    """Submit a task. Without a version the last writer wins: his file holds the whole object."""
    seen = {"If-Match": f'"{version}"'} if version else _ANY_VERSION
    headers = {} if method == "POST" else seen
    accepted = await client.order(path, body, method=method, headers=headers)
    task: dict[str, Any] = accepted["task"]
    return task


async def submit_tasks(
    client: ServiceClient,
    applications: Sequence[ApplicationDetail],
    verb: str,
    body: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Submit a task for each application; several are one request for every 500."""
    if len(applications) == 1:
        path = f"{find.path('applications', applications[0].id)}/{verb}"
        return [await submit_task(client, path, body)]
    tasks: list[dict[str, Any]] = []
    for first in range(0, len(applications), _MOST_IN_REQUEST):
        ids = [it.id for it in applications[first : first + _MOST_IN_REQUEST]]
        accepted = await client.order(f"/applications/bulk/{verb}", {**body, "ids": ids})
        tasks += accepted["tasks"]
    return tasks


async def wait_for_task(
    client: ServiceClient,
    tasks: Sequence[dict[str, Any]],
    output_options: TaskOutput,
    change: ChangeRequest | None = None,
) -> output.Exit:
    """Print a line for each task, with `wait` at its end; `change` is the written object."""
    if output_options.wait:
        tasks = await ended(
            client, tasks, command_runner.seconds("--timeout", output_options.timeout)
        )
    for plain in tasks:
        if output_options.as_json:
            output.line(plain)
        else:
            _line(answers.read(plain, TaskSummary), change)
    return output.Exit.NO if any(_failed(it) for it in tasks) else output.Exit.FINE


def _line(task: TaskSummary, change: ChangeRequest | None) -> None:
    where = f"task {task.id}" if answers.has_ended(task) else f"see: gitops task get {task.id}"
    state = tables.status(task.phase)
    if change is None:
        tables.line(task.kind, task.subject, state, task.message, where)
    elif answers.has_succeeded(task):
        tables.line(change.noun, task.subject, change.participle)
    else:
        verb = "was not" if answers.has_ended(task) else "will be"
        verdict = f"{verb} {change.participle}:"
        tables.line(change.noun, task.subject, verdict, state, task.message, where)


def _failed(plain: Mapping[str, Any]) -> bool:
    task = answers.read(plain, TaskSummary)
    return answers.has_failed(task)


async def ask_agent(client: ServiceClient, path: str, seconds: float, body: object = None) -> Any:
    """Get the agent's answer, also where the service first gives the task only.

    `body`: of questions that are too long for an address; they are posted.
    """
    answer = await (client.get(path) if body is None else client.post(path, body))
    if not isinstance(answer, dict) or set(answer) != {"task"}:
        return answer
    (plain,) = await ended(client, [answer["task"]], seconds)
    task = answers.read(plain, TaskSummary)
    if not answers.has_succeeded(task):
        raise ServiceError(f"the agent could not: {task.message or task.phase}", Exit.NO)
    return task.result


async def ended(
    client: ServiceClient, tasks: Sequence[dict[str, Any]], seconds: float
) -> Sequence[dict[str, Any]]:
    """Wait for the end of tasks; raises ServiceError with code 5 after the timeout."""
    waiting = {str(it["id"]): it for it in tasks}
    known = dict(waiting)

    async def look(event: ServerEvent | None) -> bool:
        for id_ in tuple(waiting) if event is None else (str(event.data.get("subject")),):
            known[id_] = await client.get(find.path("tasks", id_))
            if answers.has_ended(answers.read(known[id_], TaskSummary)):
                del waiting[id_]
        return not waiting

    watch = ChangeWait(
        client=client,
        query={"types": "task.changed"},
        look=look,
        concerns=lambda it: it.data.get("subject") in waiting,
    )
    if not await watch.until(seconds):
        raise _late(known, waiting, seconds)
    return list(known.values())


def _late(known: dict[str, Any], waiting: dict[str, Any], seconds: float) -> ServiceError:
    id_ = next(iter(waiting))
    phase = answers.read(known[id_], TaskSummary).phase
    what = "the task is" if len(known) == 1 else f"{len(waiting)} of {len(known)} tasks are"
    remedy = f"It goes on: gitops task get {id_}"
    return ServiceError(f"{what} still {phase} after {seconds:g} s. {remedy}", Exit.TIMEOUT)
