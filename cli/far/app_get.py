"""`gitops app get`: one application, everything that one asks first when something is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

from cli import say
from cli.columns import Columns
from cli.far import calling, find, shapes, show
from cli.far.client import Far
from cli.far.text import age, short

app = calling.new_app()

_MOST_OBJECTS = 50


@app.command(
    name="get", epilog=f"Exit codes: 0 fine, 2 there is no such application, {calling.REFUSALS}."
)
def get(
    application: calling.AppArgument,
    context: calling.ContextOption = "",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """Show one application: what runs, what Git wants, what is wrong, and its objects."""

    async def work(far: Far) -> say.Exit:
        found = await find.application(far, application)
        plain = await far.get(find.path("applications", found.id))
        if as_json:
            say.line(plain)
        else:
            _tell(shapes.read(plain, shapes.App), far.context.url, datetime.now(UTC))
        return say.Exit.FINE

    calling.call(context, work)


def _tell(it: shapes.App, service: str, now: datetime) -> None:
    show.facts(_facts(it, service, now))
    for condition in it.conditions:
        show.line("!", str(condition.get("type", "")), str(condition.get("message", "")))
    _objects(it)


def _facts(it: shapes.App, service: str, now: datetime) -> Iterator[tuple[str, show.Cell]]:
    yield "Application", it.full_name
    yield "Project", it.project
    yield "Agent", f"{it.agent.name}, {it.agent.status}, reported {_ago(it.as_of, now)}"
    yield "Environment", it.environment
    yield "Destination", _destination(it.spec.get("destination") or {})
    yield "Health", _state(it.health, it.health_since, now)
    yield "Cause", it.cause.sentence if it.cause else it.health_message
    yield "Sync", _state(it.sync, it.sync_since, now)
    yield "Failed sync", it.sync_failure.sentence if it.sync_failure else ""
    yield "Auto-sync", _auto_sync(it)
    yield "Source", " ".join(filter(None, (it.repository, it.path, it.target_revision)))
    yield "Running", _running(it.running, now)
    yield "In Git", _commit(it.wanted if it.wanted.revision else _resolved(it))
    yield "Operation", _operation(it, now)
    yield "Images", ", ".join(it.images)
    yield "Dashboard", f"{service}/applications/{it.id}"


def _state(word: str, since: str | None, now: datetime) -> Text:
    lasted = age(since, now)
    return show.status(word) + (f" for {lasted}" if lasted and lasted != "now" else "")


def _ago(time: str | None, now: datetime) -> str:
    said = age(time, now)
    return "just now" if said == "now" else f"{said} ago" if said else "at an unknown time"


def _destination(there: Mapping[str, Any]) -> str:
    cluster = there.get("name") or there.get("server") or ""
    return f"{there.get('namespace') or 'namespaces of the manifests'} in {cluster}"


def _auto_sync(it: shapes.App) -> str:
    if not it.automated:
        return "off"
    policy = (it.spec.get("syncPolicy") or {}).get("automated") or {}
    chosen = {"prune": policy.get("prune"), "self-heal": policy.get("selfHeal")}
    return ", ".join(("on", *(name for name, is_on in chosen.items() if is_on)))


def _resolved(it: shapes.App) -> shapes.Revision:
    """Of a service that does not tell the commit yet."""
    return shapes.Revision(revision=it.revision)


def _running(it: shapes.Revision, now: datetime) -> str:
    if not it.revision:
        return ""
    by = f", deployed {_ago(it.since, now)}" + (f" by {it.by}" if it.by else "")
    return _commit(it) + by + (", rolled back" if it.rolled_back else "")


def _commit(it: shapes.Revision) -> str:
    author = f" by {it.commit.author}" if it.commit.author else ""
    return f"{short(it.revision)} {it.commit.message}".rstrip() + author


def _operation(it: shapes.App, now: datetime) -> str:
    """Its phase, its message, and when it ended."""
    operation = it.status.get("operationState")
    known = operation if isinstance(operation, Mapping) else {}
    message = str(known.get("message") or "")
    ended = age(str(known.get("finishedAt") or ""), now)
    when = f" ({'now' if ended == 'now' else f'{ended} ago'})" if ended else ""
    return ": ".join(filter(None, (it.phase, message))) + when


def _objects(it: shapes.App) -> None:
    resources = it.status.get("resources")
    found = [each for each in resources or () if isinstance(each, Mapping)]
    if not found:
        return
    say.text("")
    rows = [_object(each) for each in found[:_MOST_OBJECTS]]
    show.table(Columns(head=("Object", "Sync", "Health"), kept=2), rows, "")
    if len(found) > _MOST_OBJECTS:
        say.text(f"and {len(found) - _MOST_OBJECTS} more: gitops app tree {it.full_name}")


def _object(it: Mapping[str, Any]) -> tuple[str, Text, Text]:
    name = "/".join(filter(None, (it.get("namespace"), it.get("name"))))
    health = it.get("health")
    state = str(health.get("status") or "") if isinstance(health, Mapping) else ""
    return (
        f"{it.get('kind', '')} {name}",
        show.status(str(it.get("status") or "")),
        show.status(state),
    )
