"""`gitops project`: Argo CD's projects: what may be deployed, from where, to where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from cli import say
from cli.columns import Columns
from cli.far import calling, find, ordering, shapes, show, writing
from cli.far.client import Far
from cli.far.confirmation import YesOption, confirm
from cli.far.given import takes
from cli.far.text import age

app = calling.new_app()

KIND = writing.Kind(name="AppProject", noun="appprojects", word="project", find=find.project)

ProjectArgument = Annotated[
    str,
    typer.Argument(metavar="PROJECT", help="NAME, NAMESPACE/NAME, AGENT/NAMESPACE/NAME or an id."),
]


@app.command(name="list", epilog=f"Exit codes: 0 fine, {calling.REFUSALS}.")
def list_projects(
    search: Annotated[str, typer.Argument(metavar="[WORD]", help="Part of a name.")] = "",
    context: calling.ContextOption = "",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """Projects, with how many applications are of each."""

    async def work(far: Far) -> say.Exit:
        found = [it async for it in far.pages("/appprojects", {"search": search})]
        if as_json:
            say.lines(found)
        else:
            nothing = "No AppProjects match." if search else await _in_use(far)
            _table([shapes.read(it, shapes.AppProject) for it in found], nothing)
        return say.Exit.FINE

    calling.call(context, work)


@app.command(epilog=f"Exit codes: 0 fine, 2 there is no such project, {calling.REFUSALS}.")
def get(
    project: ProjectArgument,
    context: calling.ContextOption = "",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """One project, with its rules."""

    async def work(far: Far) -> say.Exit:
        found = await find.project(far, project)
        plain = await far.get(find.path("appprojects", found.id))
        if as_json:
            say.line(plain)
        else:
            _one(shapes.read(plain, shapes.AppProject))
        return say.Exit.FINE

    calling.call(context, work)


@app.command(epilog=ordering.EXITS)
@takes(writing.Write)
def create(given: writing.Write) -> None:
    """Create the AppProjects of a file; one that is there already is refused."""
    found = writing.read(KIND, given.file)
    calling.call(given.context, lambda far: writing.create(far, KIND, given, found))


@app.command(epilog=ordering.EXITS)
@takes(writing.Write)
def apply(given: writing.Write) -> None:
    """Create the AppProjects of a file, or replace their spec, labels and annotations."""
    found = writing.read(KIND, given.file)
    calling.call(given.context, lambda far: writing.apply(far, KIND, given, found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    project: ProjectArgument
    yes: YesOption = False
    wait: ordering.WaitOption = False
    timeout: calling.TimeoutOption = "5m"
    context: calling.ContextOption = ""
    as_json: calling.JsonOption = False


@app.command(epilog=ordering.EXITS)
@takes(Delete)
def delete(given: Delete) -> None:
    """Delete a project; refused while an application is of it. A person is asked first."""

    async def work(far: Far) -> say.Exit:
        found = await find.project(far, given.project)
        confirm(f"project {found.full_name} will be deleted", yes=given.yes)
        task = await ordering.ordered(far, find.path("appprojects", found.id), None, "DELETE")
        return await ordering.told(far, [task], given, KIND.change("deleted"))

    calling.call(given.context, work)


async def _in_use(far: Far) -> str:
    """The sentence where no AppProject is reported: applications name projects all the same."""
    apps = [shapes.read(it, shapes.App) async for it in far.pages("/applications")]
    used = sorted(Counter(it.project for it in apps).items())
    names = ", ".join(f"{name} ({count})" for name, count in used)
    return f"No AppProjects yet. Applications name: {names}" if used else "No AppProjects yet."


def _table(found: list[shapes.AppProject], nothing: str) -> None:
    now = datetime.now(UTC)
    names = show.names([f"{it.namespace}/{it.name}" for it in found])
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
    show.table(Columns(head=head, kept=2, sentence=True), rows, nothing)


def _one(it: shapes.AppProject) -> None:
    show.facts(
        (
            ("Project", it.full_name),
            ("", it.description),
            ("Applications", str(it.applications)),
            ("Sources", ", ".join(map(str, it.spec.get("sourceRepos") or ()))),
            ("Destinations", ", ".join(_place(each) for each in it.spec.get("destinations") or ())),
        )
    )


def _place(destination: Mapping[str, Any]) -> str:
    server = destination.get("name") or destination.get("server") or "*"
    return f"{destination.get('namespace') or '*'} in {server}"
