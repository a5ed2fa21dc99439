"""`gitops project`: AppProjects: sources, destinations and kinds that applications may use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from cli import output
from cli.command import new_group
from cli.remote import answers, command_runner, find, manifest_writes, tables, task_client
from cli.remote.confirmation import YesOption, confirm
from cli.remote.formatting import age
from cli.remote.options import takes
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import ApplicationDetail, AppProjectDetail
from cli.remote.tables import Columns

app = new_group()

KIND = manifest_writes.WrittenKind(
    name="AppProject", noun="appprojects", word="project", find=find.project
)

ProjectArgument = Annotated[
    str,
    typer.Argument(metavar="PROJECT", help="NAME, NAMESPACE/NAME, AGENT/NAMESPACE/NAME or an id."),
]


@app.command(name="list", epilog=f"Exit codes: 0 fine, {command_runner.REFUSALS}.")
def list_projects(
    search: Annotated[str, typer.Argument(metavar="[WORD]", help="Part of a name.")] = "",
    context: command_runner.ContextOption = "",
    *,
    as_json: command_runner.JsonOption = False,
) -> None:
    """List projects, with the number of their applications."""

    async def work(client: ServiceClient) -> output.Exit:
        found = [it async for it in client.pages("/appprojects", {"search": search})]
        if as_json:
            output.lines(found)
        else:
            nothing = "No AppProjects match." if search else await _in_use(client)
            _table([answers.read(it, AppProjectDetail) for it in found], nothing)
        return output.Exit.FINE

    command_runner.call(context, work)


@app.command(epilog=f"Exit codes: 0 fine, 2 there is no such project, {command_runner.REFUSALS}.")
def get(
    project: ProjectArgument,
    context: command_runner.ContextOption = "",
    *,
    as_json: command_runner.JsonOption = False,
) -> None:
    """Show one project with its rules."""

    async def work(client: ServiceClient) -> output.Exit:
        found = await find.project(client, project)
        plain = await client.get(find.path("appprojects", found.id))
        if as_json:
            output.line(plain)
        else:
            _one(answers.read(plain, AppProjectDetail))
        return output.Exit.FINE

    command_runner.call(context, work)


@app.command(epilog=task_client.EXITS)
@takes(manifest_writes.ManifestWrite)
def create(options: manifest_writes.ManifestWrite) -> None:
    """Create the AppProjects of a file; one that is there already is refused."""
    found = manifest_writes.read(KIND, options.file)
    command_runner.call(
        options.context, lambda client: manifest_writes.create(client, KIND, options, found)
    )


@app.command(epilog=task_client.EXITS)
@takes(manifest_writes.ManifestWrite)
def apply(options: manifest_writes.ManifestWrite) -> None:
    """Create the AppProjects of a file, or replace their spec, labels and annotations."""
    found = manifest_writes.read(KIND, options.file)
    command_runner.call(
        options.context, lambda client: manifest_writes.apply(client, KIND, options, found)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectDeleteOptions:
    project: ProjectArgument
    yes: YesOption = False
    wait: task_client.WaitOption = False
    timeout: command_runner.TimeoutOption = "5m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


@app.command(epilog=task_client.EXITS)
@takes(ProjectDeleteOptions)
def delete(options: ProjectDeleteOptions) -> None:
    """Delete a project; refused while an application is of it. A person is asked first."""

    async def work(client: ServiceClient) -> output.Exit:
        found = await find.project(client, options.project)
        confirm(f"project {answers.full_name(found)} will be deleted", yes=options.yes)
        task = await task_client.submit_task(
            client, find.path("appprojects", found.id), None, "DELETE"
        )
        return await task_client.wait_for_task(client, [task], options, KIND.change("deleted"))

    command_runner.call(options.context, work)


async def _in_use(client: ServiceClient) -> str:
    """Make the sentence shown where no AppProject is reported although applications name some."""
    apps = [answers.read(it, ApplicationDetail) async for it in client.pages("/applications")]
    used = sorted(Counter(it.project for it in apps).items())
    names = ", ".join(f"{name} ({count})" for name, count in used)
    return f"No AppProjects yet. Applications name: {names}" if used else "No AppProjects yet."


def _table(found: list[AppProjectDetail], nothing: str) -> None:
    now = datetime.now(UTC)
    names = tables.names([f"{it.namespace}/{it.name}" for it in found])
    rows = (
        (
            name,
            it.agent.name,
            str(it.applications),
            it.environment,
            age(it.as_of, now),
            it.description,
        )
        for name, it in zip(names, found, strict=True)
    )
    head = ("Project", "Agent", "Apps", "Environment", "As of", "Description")
    tables.table(Columns(head=head, kept=2, sentence=True), rows, nothing)


def _one(it: AppProjectDetail) -> None:
    tables.facts(
        (
            ("Project", answers.full_name(it)),
            ("", it.description),
            ("Applications", str(it.applications)),
            ("Sources", ", ".join(map(str, it.spec.get("sourceRepos") or ()))),
            ("Destinations", ", ".join(_place(each) for each in it.spec.get("destinations") or ())),
        )
    )


def _place(destination: Mapping[str, Any]) -> str:
    server = destination.get("name") or destination.get("server") or "*"
    return f"{destination.get('namespace') or '*'} in {server}"
