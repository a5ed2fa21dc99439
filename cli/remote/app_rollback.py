"""`gitops app history|rollback`: deployments of an application, and the way back to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cli import output
from cli.command import new_group
from cli.output import Exit
from cli.remote import answers, app_sync, command_runner, find, tables, task_client
from cli.remote.confirmation import YesOption, confirm
from cli.remote.errors import ServiceError
from cli.remote.formatting import day, short
from cli.remote.options import takes
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import ApplicationDetail, DeploymentEntry, TaskSummary
from cli.remote.tables import Columns
from cli.remote.task_client import ended

app = new_group()


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackVerbOptions:
    application: command_runner.AppArgument
    history_id: Annotated[int, typer.Argument(metavar="ID", min=0, help="Of the history.")]
    prune: app_sync.PruneOption = False
    auto_sync_off: Annotated[
        bool,
        typer.Option(
            "--auto-sync-off", help="First switch off automated sync, which would undo it."
        ),
    ] = False
    preview: app_sync.PreviewOption = False
    yes: YesOption = False
    wait: task_client.WaitOption = False
    timeout: command_runner.TimeoutOption = "10m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


@app.command(epilog=task_client.EXITS)
@takes(RollbackVerbOptions)
def rollback(options: RollbackVerbOptions) -> None:
    """Sync to what was deployed before; see gitops app history.

    An application that syncs by itself is refused unless --auto-sync-off; a person is asked first.
    """

    async def work(client: ServiceClient) -> output.Exit:
        body = {"historyId": options.history_id, "prune": options.prune}
        found = await find.application(client, options.application)
        if options.preview:
            seconds = command_runner.seconds("--timeout", options.timeout)
            path = f"{find.path('applications', found.id)}/rollback/preview"
            return await app_sync.show(client, path, body, seconds, as_json=options.as_json)
        if found.automated:
            await _check_known(client, found, options.history_id)
            _confirm_auto_sync_off(found, options)
            seconds = command_runner.seconds("--timeout", options.timeout)
            await switch_off(client, found.id, seconds)
        tasks = await task_client.submit_tasks(client, [found], "rollback", body)
        return await task_client.wait_for_task(client, tasks, options)

    command_runner.call(options.context, work)


async def _check_known(client: ServiceClient, found: ApplicationDetail, history_id: int) -> None:
    """Check the history entry before automated sync is switched off for the rollback."""
    history = await client.get(f"{find.path('applications', found.id)}/history")
    known = [answers.read(it, DeploymentEntry).id for it in history["items"]]
    if history_id not in known:
        there = f"there are {', '.join(map(str, known))}" if known else "nothing was deployed yet"
        text = f"{answers.full_name(found)} has no history entry {history_id}; {there}"
        raise ServiceError(text, output.Exit.BAD_INPUT)


def _confirm_auto_sync_off(found: ApplicationDetail, options: RollbackVerbOptions) -> None:
    """Confirm that automated sync, which would undo the rollback, is switched off for good."""
    if not options.auto_sync_off:
        text = f"{answers.full_name(found)}: automated sync is on and would undo the rollback"
        raise ServiceError(f"{text}. Switch it off with --auto-sync-off", output.Exit.BAD_INPUT)
    text = f"automated sync of {answers.full_name(found)} will be switched off"
    confirm(f"{text} and stays off until somebody switches it on again", yes=options.yes)


_METADATA = ("name", "namespace", "labels", "annotations")


async def switch_off(client: ServiceClient, application: str, seconds: float) -> None:
    """Switch off automated sync and wait for the agent; nothing is done where it is off."""
    path = find.path("applications", application)
    detail = await client.get(path)
    policy = detail["spec"].get("syncPolicy") or {}
    automated = policy.get("automated")
    if automated is None or automated.get("enabled") is False:
        return
    headers = {"If-Match": f'"{detail["version"]}"'}
    body = {"manifest": _by_hand(detail, {**policy, "automated": {**automated, "enabled": False}})}
    accepted = await client.order(path, body, method="PUT", headers=headers)
    (plain,) = await ended(client, [accepted["task"]], seconds)
    task = answers.read(plain, TaskSummary)
    if not answers.has_succeeded(task):
        text = f"automated sync is still on, nothing was rolled back: {task.message or task.phase}"
        raise ServiceError(text, Exit.NO)


def _by_hand(detail: Mapping[str, Any], policy: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {name: detail[name] for name in _METADATA if detail.get(name)},
        "spec": {**detail["spec"], "syncPolicy": policy},
    }


@app.command(
    epilog=f"Exit codes: 0 fine, 2 there is no such application, {command_runner.REFUSALS}."
)
def history(
    application: command_runner.AppArgument,
    context: command_runner.ContextOption = "",
    *,
    as_json: command_runner.JsonOption = False,
) -> None:
    """List what was deployed, the newest first; the id is what rollback takes."""

    async def work(client: ServiceClient) -> output.Exit:
        found = await find.application(client, application)
        path = f"{find.path('applications', found.id)}/history"
        items = (await client.get(path))["items"]
        if as_json:
            output.lines(items)
        else:
            _history([answers.read(it, DeploymentEntry) for it in items])
        return output.Exit.FINE

    command_runner.call(context, work)


def _history(items: Sequence[DeploymentEntry]) -> None:
    rows = (
        (
            str(it.id),
            day(it.deployed_at),
            ", ".join(map(short, it.revisions or (it.revision,))),
            it.initiated_by,
            it.author,
            it.message,
        )
        for it in items
    )
    head = ("Id", "Deployed", "Revision", "By", "Author", "Message")
    columns = Columns(head=head, kept=3, sentence=True)
    tables.table(columns, rows, "Nothing has been deployed yet.")
