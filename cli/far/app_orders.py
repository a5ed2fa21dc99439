"""`gitops app sync|refresh|rollback|terminate`: commands to agents, by way of tasks.

Without `--wait` the answer is the tasks; with it their ends, which the exit code tells. What is for
several applications at once is one request to the service: each application gets a task, or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cli import say
from cli.far import auto_sync, calling, choosing, find, ordering, previewing, shapes
from cli.far.client import Far
from cli.far.confirmation import YesOption, confirm
from cli.far.errors import FarError
from cli.far.given import takes

app = calling.new_app()

_OBJECT_PARTS = 4
_AT_ONCE = 500
"""Applications that the service takes in one request."""

RevisionOption = Annotated[
    str, typer.Option("--revision", help="Instead of the target revision; of one application.")
]
ResourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--resource",
        metavar="GROUP/KIND/NAMESPACE/NAME",
        help="Only this object, of one application; may be repeated.",
    ),
]
SyncOptionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="A sync option, for this sync only; may be repeated."
    ),
]
PruneOption = Annotated[bool, typer.Option("--prune", help="Delete what Git no longer has.")]
PreviewOption = Annotated[
    bool,
    typer.Option("--preview", help="Show what it would do, of one application; order nothing."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    applications: choosing.AppsArgument = None
    selector: choosing.SelectorOption = None
    revision: RevisionOption = ""
    resource: ResourceOption = None
    option: SyncOptionOption = None
    prune: PruneOption = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing.")] = False
    preview: PreviewOption = False
    wait: ordering.WaitOption = False
    timeout: calling.TimeoutOption = "10m"
    context: calling.ContextOption = ""
    as_json: calling.JsonOption = False

    @property
    def body(self) -> dict[str, Any]:
        """Without what is not chosen: a request for several takes less."""
        body = {
            "revision": self.revision,
            "prune": self.prune,
            "dryRun": self.dry_run,
            "resources": [_object(it) for it in self.resource or ()],
            "options": [_option(it) for it in self.option or ()],
        }
        return {name: value for name, value in body.items() if value}


@app.command(epilog=ordering.EXITS)
@takes(Sync)
def sync(given: Sync) -> None:
    """Deploy the desired state now."""

    async def work(far: Far) -> say.Exit:
        found = await choosing.applications(far, given.applications, given.selector)
        one_only = given.revision or given.resource or given.preview
        if len(found) > 1 and one_only:
            text = "--revision, --resource and --preview are for one application"
            raise FarError(f"{text}, and {len(found)} are named", say.Exit.BAD_INPUT)
        if given.preview:
            seconds = calling.seconds("--timeout", given.timeout)
            path = f"{find.path('applications', found[0].id)}/sync/preview"
            return await previewing.told(far, path, given.body, seconds, as_json=given.as_json)
        tasks = await _ordered(far, found, "sync", given.body)
        return await ordering.told(far, tasks, given)

    calling.call(given.context, work)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    applications: choosing.AppsArgument = None
    selector: choosing.SelectorOption = None
    hard: Annotated[bool, typer.Option("--hard", help="Forget what is cached.")] = False
    wait: ordering.WaitOption = False
    timeout: calling.TimeoutOption = "5m"
    context: calling.ContextOption = ""
    as_json: calling.JsonOption = False


@app.command(epilog=ordering.EXITS)
@takes(Refresh)
def refresh(given: Refresh) -> None:
    """Look at the source again."""

    async def work(far: Far) -> say.Exit:
        found = await choosing.applications(far, given.applications, given.selector)
        tasks = await _ordered(far, found, "refresh", {"hard": given.hard})
        return await ordering.told(far, tasks, given)

    calling.call(given.context, work)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    application: calling.AppArgument
    history_id: Annotated[int, typer.Argument(metavar="ID", min=0, help="Of the history.")]
    prune: PruneOption = False
    auto_sync_off: Annotated[
        bool,
        typer.Option(
            "--auto-sync-off", help="First switch off automated sync, which would undo it."
        ),
    ] = False
    preview: PreviewOption = False
    yes: YesOption = False
    wait: ordering.WaitOption = False
    timeout: calling.TimeoutOption = "10m"
    context: calling.ContextOption = ""
    as_json: calling.JsonOption = False


@app.command(epilog=ordering.EXITS)
@takes(Rollback)
def rollback(given: Rollback) -> None:
    """Sync to what was deployed before; see gitops app history.

    An application that syncs by itself is refused unless --auto-sync-off; a person is asked first.
    """

    async def work(far: Far) -> say.Exit:
        body = {"historyId": given.history_id, "prune": given.prune}
        found = await find.application(far, given.application)
        if given.preview:
            seconds = calling.seconds("--timeout", given.timeout)
            path = f"{find.path('applications', found.id)}/rollback/preview"
            return await previewing.told(far, path, body, seconds, as_json=given.as_json)
        if found.automated:
            await _check_known(far, found, given.history_id)
            _confirm_auto_sync_off(found, given)
            seconds = calling.seconds("--timeout", given.timeout)
            await auto_sync.switch_off(far, found.id, seconds)
        return await ordering.told(far, await _ordered(far, [found], "rollback", body), given)

    calling.call(given.context, work)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminate:
    application: calling.AppArgument
    wait: ordering.WaitOption = False
    timeout: calling.TimeoutOption = "5m"
    context: calling.ContextOption = ""
    as_json: calling.JsonOption = False


@app.command(epilog=ordering.EXITS)
@takes(Terminate)
def terminate(given: Terminate) -> None:
    """End the operation that runs."""

    async def work(far: Far) -> say.Exit:
        found = await find.application(far, given.application)
        return await ordering.told(far, await _ordered(far, [found], "terminate", {}), given)

    calling.call(given.context, work)


async def _check_known(far: Far, found: shapes.App, history_id: int) -> None:
    """Asked before automated sync is switched off for a rollback that then is none."""
    history = await far.get(f"{find.path('applications', found.id)}/history")
    known = [shapes.read(it, shapes.Deployment).id for it in history["items"]]
    if history_id not in known:
        there = f"there are {', '.join(map(str, known))}" if known else "nothing was deployed yet"
        text = f"{found.full_name} has no history entry {history_id}; {there}"
        raise FarError(text, say.Exit.BAD_INPUT)


def _confirm_auto_sync_off(found: shapes.App, given: Rollback) -> None:
    """Automated sync would undo the rollback, and nobody switches it on again by itself."""
    if not given.auto_sync_off:
        text = f"{found.full_name}: automated sync is on and would undo the rollback"
        raise FarError(f"{text}. Switch it off with --auto-sync-off", say.Exit.BAD_INPUT)
    text = f"automated sync of {found.full_name} will be switched off and stays off until somebody"
    confirm(f"{text} switches it on again", yes=given.yes)


async def _ordered(
    far: Far, found: Sequence[shapes.App], verb: str, body: Mapping[str, Any]
) -> list[dict[str, Any]]:
    if len(found) == 1:
        path = f"{find.path('applications', found[0].id)}/{verb}"
        return [await ordering.ordered(far, path, body)]
    tasks: list[dict[str, Any]] = []
    for first in range(0, len(found), _AT_ONCE):
        ids = [it.id for it in found[first : first + _AT_ONCE]]
        accepted = await far.order(f"/applications/bulk/{verb}", {**body, "ids": ids})
        tasks += accepted["tasks"]
    return tasks


def _option(text: str) -> str:
    name, equals, value = text.partition("=")
    if not name or not equals or not value:
        wanted = "NAME=VALUE, e.g. ServerSideApply=true"
        raise FarError(f"--option: expected {wanted}, found {text!r}", say.Exit.BAD_INPUT)
    return text


def _object(text: str) -> dict[str, str]:
    """The group of core kinds, and the namespace of cluster-wide ones, are empty."""
    parts: Sequence[str] = text.split("/")
    if len(parts) != _OBJECT_PARTS or not parts[1] or not parts[3]:
        wanted = "GROUP/KIND/NAMESPACE/NAME, e.g. apps/Deployment/shop/web or /ConfigMap/shop/site"
        raise FarError(f"--resource: expected {wanted}, found {text!r}", say.Exit.BAD_INPUT)
    return dict(zip(("group", "kind", "namespace", "name"), parts, strict=True))
