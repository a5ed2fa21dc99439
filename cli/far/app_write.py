"""`gitops app create|apply|delete`: Applications in a cluster, by way of its agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from cli import say
from cli.far import calling, find, ordering, writing
from cli.far.client import Far
from cli.far.confirmation import YesOption, confirm
from cli.far.given import takes

app = calling.new_app()

KIND = writing.Kind(
    name="Application", noun="applications", word="application", find=find.application
)


@app.command(epilog=ordering.EXITS)
@takes(writing.Write)
def create(given: writing.Write) -> None:
    """Create the Applications of a file; one that is there already is refused."""
    found = writing.read(KIND, given.file)
    calling.call(given.context, lambda far: writing.create(far, KIND, given, found))


@app.command(epilog=ordering.EXITS)
@takes(writing.Write)
def apply(given: writing.Write) -> None:
    """Create the Applications of a file, or replace their spec, labels and annotations."""
    found = writing.read(KIND, given.file)
    calling.call(given.context, lambda far: writing.apply(far, KIND, given, found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    application: calling.AppArgument
    keep: Annotated[bool, typer.Option("--keep-objects", help="Leave what it deployed.")] = False
    yes: YesOption = False
    wait: ordering.WaitOption = False
    timeout: calling.TimeoutOption = "5m"
    context: calling.ContextOption = ""
    as_json: calling.JsonOption = False


@app.command(epilog=ordering.EXITS)
@takes(Delete)
def delete(given: Delete) -> None:
    """Delete an Application and what it deployed; a person is asked first."""

    async def work(far: Far) -> say.Exit:
        found = await find.application(far, given.application)
        kept = "what it deployed stays" if given.keep else "what it deployed is deleted with it"
        confirm(f"application {found.full_name} will be deleted; {kept}", yes=given.yes)
        path = f"{find.path('applications', found.id)}?cascade={str(not given.keep).lower()}"
        task = await ordering.ordered(far, path, None, "DELETE")
        return await ordering.told(far, [task], given, KIND.change("deleted"))

    calling.call(given.context, work)
