"""`gitops app sync`: deploy the desired state of applications, or preview one deployment.

Several applications are one request to the service: each of them gets a task, or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cli import output
from cli.command import new_group
from cli.remote import command_runner, find, tables, task_client
from cli.remote.errors import ServiceError
from cli.remote.options import takes
from cli.remote.service_client import ServiceClient
from cli.remote.tables import Columns
from cli.remote.task_client import ask_agent
from handlers.sync.resource_selection import EXCLUDED

app = new_group()

_RESOURCE_PARTS = 4
_COLONS = 2

RevisionOption = Annotated[
    str, typer.Option("--revision", help="Instead of the target revision; of one application.")
]
RevisionsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--revisions",
        help="Instead of the target revision of one of several sources, which --source-positions"
        " names; may be repeated.",
    ),
]
PositionsOption = Annotated[
    list[int] | None,
    typer.Option(
        "--source-positions",
        min=1,
        help="The place, from 1, of the source that the --revisions in the same place is for.",
    ),
]
ResourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--resource",
        metavar="[!]GROUP:KIND:[NAMESPACE/]NAME",
        help="Only this object, or with ! every other one, of one application; `*` stands for any"
        " group, kind, namespace or name; may be repeated.",
    ),
]
SyncOptionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="A sync option, for this sync only; may be repeated."
    ),
]


PruneOption = Annotated[bool, typer.Option("--prune", help="Delete what Git no longer has.")]
OverrideWindowOption = Annotated[
    bool,
    typer.Option(
        "--override-window",
        help="Pass a closed sync window this once, in an emergency; of one application.",
    ),
]
ReasonOption = Annotated[
    str, typer.Option("--reason", help="Why the window is overridden, for the audit.")
]
PreviewOption = Annotated[
    bool,
    typer.Option("--preview", help="Show what it would do, of one application; order nothing."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncVerbOptions:
    applications: find.AppsArgument = None
    selector: find.SelectorOption = None
    revision: RevisionOption = ""
    revisions: RevisionsOption = None
    source_positions: PositionsOption = None
    resource: ResourceOption = None
    option: SyncOptionOption = None
    prune: PruneOption = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing.")] = False
    override_window: OverrideWindowOption = False
    reason: ReasonOption = ""
    preview: PreviewOption = False
    wait: task_client.WaitOption = False
    timeout: command_runner.TimeoutOption = "10m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False

    @property
    def body(self) -> dict[str, Any]:
        """The body of the request, without options that were not chosen."""
        body = {
            "revision": self.revision,
            "prune": self.prune,
            "dryRun": self.dry_run,
            "resources": [_resource(it) for it in self.resource or ()],
            "options": [_option(it) for it in self.option or ()],
            "overrideWindow": self.override_window,
            "reason": self.reason.strip(),
        }
        return {name: value for name, value in body.items() if value}


@app.command(epilog=task_client.EXITS)
@takes(SyncVerbOptions)
def sync(options: SyncVerbOptions) -> None:
    """Deploy the desired state now."""

    async def work(client: ServiceClient) -> output.Exit:
        _check_reason(options)
        found = await find.applications(client, options.applications, options.selector)
        one_only = (
            options.revision or options.resource or options.preview or options.override_window
        )
        if len(found) > 1 and (one_only or options.revisions):
            text = (
                "--revision, --revisions, --resource, --override-window and --preview are for one"
                " application"
            )
            raise ServiceError(f"{text}, and {len(found)} are named", output.Exit.BAD_INPUT)
        body = options.body
        if options.revisions or options.source_positions:
            detail = await client.get(find.path("applications", found[0].id))
            body["revisions"] = revisions_of(options, len(detail["spec"].get("sources") or ()))
        if options.preview:
            seconds = command_runner.seconds("--timeout", options.timeout)
            path = f"{find.path('applications', found[0].id)}/sync/preview"
            return await show(client, path, body, seconds, as_json=options.as_json)
        tasks = await task_client.submit_tasks(client, found, "sync", body)
        return await task_client.wait_for_task(client, tasks, options)

    command_runner.call(options.context, work)


def revisions_of(options: SyncVerbOptions, sources: int) -> list[str]:
    """Make one revision for each source; those that are not named stay empty."""
    named, places = options.revisions or [], options.source_positions or []
    if options.revision or len(named) != len(places) or len(set(places)) != len(places):
        text = "--revisions: expected a --source-positions of its own for each, and no --revision"
        raise ServiceError(text, output.Exit.BAD_INPUT)
    if not sources or max(places) > sources:
        has = f"has {sources} sources" if sources else "has one source; say --revision"
        raise ServiceError(f"--source-positions: the application {has}", output.Exit.BAD_INPUT)
    found = dict(zip(places, named, strict=True))
    return [found.get(place, "") for place in range(1, sources + 1)]


def _check_reason(options: SyncVerbOptions) -> None:
    if options.override_window and not options.reason.strip():
        text = "--override-window: expected --reason with why, which the audit keeps"
        raise ServiceError(text, output.Exit.BAD_INPUT)
    if options.reason and not options.override_window:
        raise ServiceError("--reason: expected --override-window with it", output.Exit.BAD_INPUT)


def _option(text: str) -> str:
    name, equals, value = text.partition("=")
    if not name or not equals or not value:
        expected = "NAME=VALUE, e.g. ServerSideApply=true"
        raise ServiceError(f"--option: expected {expected}, found {text!r}", output.Exit.BAD_INPUT)
    return text


def _resource(text: str) -> dict[str, str]:
    """Parse a reference as Argo CD writes it, or with slashes; core kinds have no group.

    An exclamation mark goes before the kind, as the API has it.
    """
    exclusion = EXCLUDED if text.startswith(EXCLUDED) else ""
    parts: Sequence[str] = text.removeprefix(EXCLUDED).split("/")
    if len(parts) < _RESOURCE_PARTS and text.count(":") >= _COLONS:
        group, kind, place = text.removeprefix(EXCLUDED).split(":", _COLONS)
        namespace, _, name = place.rpartition("/")
        parts = (group, kind, namespace, name)
    if len(parts) != _RESOURCE_PARTS or not parts[1] or not parts[3]:
        expected = (
            "GROUP:KIND:NAME or GROUP/KIND/NAMESPACE/NAME, e.g. apps:Deployment:web,"
            " apps/Deployment/shop/web, :ConfigMap:shop/site or '!*:Job:*'"
        )
        raise ServiceError(
            f"--resource: expected {expected}, found {text!r}", output.Exit.BAD_INPUT
        )
    group, kind, namespace, name = parts
    return {"group": group, "kind": exclusion + kind, "namespace": namespace, "name": name}


_DONE = ("create", "change", "prune")
_LEFT = ("refuse", "skip")


async def show(
    client: ServiceClient, path: str, body: Mapping[str, Any], seconds: float, *, as_json: bool
) -> output.Exit:
    """Print the preview; the exit code is 1 where it has changes or refusals."""
    preview = await ask_agent(client, path, seconds, body)
    if as_json:
        output.line(preview)
    else:
        columns = Columns(head=("Would", "Object", "Why"), kept=2, sentence=True)
        tables.table(columns, _rows(preview), "It would change nothing.")
    wrong = any(preview.get(verb) for verb in (*_DONE, "refuse"))
    return output.Exit.NO if wrong else output.Exit.FINE


def _rows(preview: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """List the changes, then the objects that stay as they are, with the reason."""
    for verb in _DONE:
        yield from ((verb, str(key), "") for key in preview.get(verb, ()))
    for verb in _LEFT:
        for it in preview.get(verb, ()):
            yield verb, str(it["key"]), str(it["note"])
