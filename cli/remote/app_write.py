"""The verbs of `gitops app` that write Applications or command their agents.

They are create, apply, delete, refresh, terminate and confirm-deletion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from cli import output
from cli.command import new_group
from cli.remote import answers, command_runner, find, manifest_writes, task_client
from cli.remote.confirmation import YesOption, confirm
from cli.remote.options import takes
from cli.remote.service_client import ServiceClient

app = new_group()

KIND = manifest_writes.WrittenKind(
    name="Application", noun="applications", word="application", find=find.application
)


@app.command(epilog=task_client.EXITS)
@takes(manifest_writes.ManifestWrite)
def create(options: manifest_writes.ManifestWrite) -> None:
    """Create the Applications of a file; one that is there already is refused."""
    found = manifest_writes.read(KIND, options.file)
    command_runner.call(
        options.context, lambda client: manifest_writes.create(client, KIND, options, found)
    )


@app.command(epilog=task_client.EXITS)
@takes(manifest_writes.ManifestWrite)
def apply(options: manifest_writes.ManifestWrite) -> None:
    """Create the Applications of a file, or replace their spec, labels and annotations."""
    found = manifest_writes.read(KIND, options.file)
    command_runner.call(
        options.context, lambda client: manifest_writes.apply(client, KIND, options, found)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    application: command_runner.AppArgument
    keep: Annotated[bool, typer.Option("--keep-objects", help="Leave what it deployed.")] = False
    yes: YesOption = False
    wait: task_client.WaitOption = False
    timeout: command_runner.TimeoutOption = "5m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


@app.command(epilog=task_client.EXITS)
@takes(DeleteOptions)
def delete(options: DeleteOptions) -> None:
    """Delete an Application and what it deployed; a person is asked first."""

    async def work(client: ServiceClient) -> output.Exit:
        found = await find.application(client, options.application)
        kept = "what it deployed stays" if options.keep else "what it deployed is deleted with it"
        confirm(f"application {answers.full_name(found)} will be deleted; {kept}", yes=options.yes)
        path = f"{find.path('applications', found.id)}?cascade={str(not options.keep).lower()}"
        task = await task_client.submit_task(client, path, None, "DELETE")
        return await task_client.wait_for_task(client, [task], options, KIND.change("deleted"))

    command_runner.call(options.context, work)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshVerbOptions:
    applications: find.AppsArgument = None
    selector: find.SelectorOption = None
    hard: Annotated[bool, typer.Option("--hard", help="Forget what is cached.")] = False
    wait: task_client.WaitOption = False
    timeout: command_runner.TimeoutOption = "5m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


@app.command(epilog=task_client.EXITS)
@takes(RefreshVerbOptions)
def refresh(options: RefreshVerbOptions) -> None:
    """Look at the source again."""

    async def work(client: ServiceClient) -> output.Exit:
        found = await find.applications(client, options.applications, options.selector)
        tasks = await task_client.submit_tasks(client, found, "refresh", {"hard": options.hard})
        return await task_client.wait_for_task(client, tasks, options)

    command_runner.call(options.context, work)


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminateVerbOptions:
    application: command_runner.AppArgument
    wait: task_client.WaitOption = False
    timeout: command_runner.TimeoutOption = "5m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


@app.command(epilog=task_client.EXITS)
@takes(TerminateVerbOptions)
def terminate(options: TerminateVerbOptions) -> None:
    """End the operation that runs."""

    async def work(client: ServiceClient) -> output.Exit:
        found = await find.application(client, options.application)
        tasks = await task_client.submit_tasks(client, [found], "terminate", {})
        return await task_client.wait_for_task(client, tasks, options)

    command_runner.call(options.context, work)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmDeletionOptions:
    application: command_runner.AppArgument
    yes: YesOption = False
    wait: task_client.WaitOption = False
    timeout: command_runner.TimeoutOption = "5m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


@app.command(name="confirm-deletion", epilog=task_client.EXITS)
@takes(ConfirmDeletionOptions)
def confirm_deletion(options: ConfirmDeletionOptions) -> None:
    """Approve the deletions that wait for a person; a person is asked first."""

    async def work(client: ServiceClient) -> output.Exit:
        found = await find.application(client, options.application)
        what = "the deletions that wait will be approved"
        confirm(f"application {answers.full_name(found)}: {what}", yes=options.yes)
        tasks = await task_client.submit_tasks(client, [found], "confirm-deletion", {})
        return await task_client.wait_for_task(client, tasks, options)

    command_runner.call(options.context, work)
