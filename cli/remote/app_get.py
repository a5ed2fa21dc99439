"""`gitops app get`: one application with its deployment, its problems and its objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

from cli import output
from cli.command import new_group
from cli.remote import answers, command_runner, find, tables
from cli.remote.formatting import age, short
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import ApplicationDetail, CommitInfo, RunningDeployment
from cli.remote.tables import Columns

app = new_group()

_MOST_OBJECTS = 50


@app.command(
    name="get",
    epilog=f"Exit codes: 0 fine, 2 there is no such application, {command_runner.REFUSALS}.",
)
def get(
    application: command_runner.AppArgument,
    context: command_runner.ContextOption = "",
    *,
    as_json: command_runner.JsonOption = False,
) -> None:
    """Show one application: what runs, what Git wants, what is wrong, and its objects."""

    async def work(client: ServiceClient) -> output.Exit:
        found = await find.application(client, application)
        plain = await client.get(find.path("applications", found.id))
        if as_json:
            output.line(plain)
        else:
            _show(
                answers.read(plain, ApplicationDetail),
                client.context.url,
                datetime.now(UTC),
            )
        return output.Exit.FINE

    command_runner.call(context, work)


def _show(it: ApplicationDetail, service: str, now: datetime) -> None:
    tables.facts(_facts(it, service, now))
    for condition in it.conditions:
        tables.line("!", condition.type, condition.message)
    _hooks(it)
    _objects(it)


def _facts(it: ApplicationDetail, service: str, now: datetime) -> Iterator[tuple[str, tables.Cell]]:
    yield "Application", answers.full_name(it)
    yield "Project", it.project
    yield "Agent", f"{it.agent.name}, {it.agent.status}"
    yield "Last report", _ago(it.as_of, now)
    yield "Environment", it.environment
    yield "Destination", _destination(it.spec.get("destination") or {})
    yield "Health", _state(it.health, it.health_since, now)
    yield "Cause", answers.cause_sentence(it.cause) if it.cause else it.health_message
    yield "Sync", _state(it.sync, it.sync_since, now)
    yield "Failed sync", answers.failure_sentence(it.sync_failure) if it.sync_failure else ""
    yield "Auto-sync", _auto_sync(it)
    yield from _sources(it)
    yield "Running", _running(it.running, now)
    yield "Desired", _commit(it.wanted.revision or it.revision, it.wanted.commit)
    yield "Operation", _operation(it, now)
    yield "Images", ", ".join(it.images)
    yield "Dashboard", f"{service}/applications/{it.id}"


def _sources(it: ApplicationDetail) -> Iterator[tuple[str, tables.Cell]]:
    """List each of several sources with its revision, by the place that a sync names."""
    several = [each for each in it.spec.get("sources") or () if isinstance(each, Mapping)]
    if not several:
        yield "Source", " ".join(filter(None, (it.repository, it.path, it.target_revision)))
        return
    sync = it.status.get("sync")
    revisions = sync.get("revisions") if isinstance(sync, Mapping) else None
    for place, each in enumerate(several):
        at = revisions[place] if isinstance(revisions, list) and place < len(revisions) else ""
        ref = f"ref {each['ref']}" if each.get("ref") else ""
        where = (each.get("path") or each.get("chart"), each.get("targetRevision"), ref)
        text = " ".join(str(one) for one in (each.get("repoURL"), *where) if one)
        yield f"Source {place + 1}", f"{text} at {short(str(at))}" if at else text


def _state(word: str, since: str | None, now: datetime) -> Text:
    lasted = age(since, now)
    return tables.status(word) + (f" for {lasted}" if lasted and lasted != "now" else "")


def _ago(time: str | None, now: datetime) -> str:
    elapsed = age(time, now)
    if elapsed == "now":
        return "just now"
    return f"{elapsed} ago" if elapsed else "at an unknown time"


def _destination(there: Mapping[str, Any]) -> str:
    cluster = there.get("name") or there.get("server") or ""
    return f"{there.get('namespace') or 'namespaces of the manifests'} in {cluster}"


def _auto_sync(it: ApplicationDetail) -> str:
    if not it.automated:
        return "off"
    policy = (it.spec.get("syncPolicy") or {}).get("automated") or {}
    chosen = {"prune": policy.get("prune"), "self-heal": policy.get("selfHeal")}
    return ", ".join(("on", *(name for name, is_on in chosen.items() if is_on)))


def _running(it: RunningDeployment, now: datetime) -> str:
    if not it.revision:
        return ""
    by = f", deployed {_ago(it.since, now)}" + (f" by {it.by}" if it.by else "")
    return _commit(it.revision, it.commit) + by + (", rolled back" if it.rolled_back else "")


def _commit(revision: str, commit: CommitInfo) -> str:
    author = f" by {commit.author}" if commit.author else ""
    return f"{short(revision)} {commit.message}".rstrip() + author


def _operation(it: ApplicationDetail, now: datetime) -> str:
    """Format the last operation: its phase, its message and its end."""
    operation = it.status.get("operationState")
    known = operation if isinstance(operation, Mapping) else {}
    message = str(known.get("message") or "")
    ended = age(str(known.get("finishedAt") or ""), now)
    when = f" ({'now' if ended == 'now' else f'{ended} ago'})" if ended else ""
    return ": ".join(filter(None, (it.phase, message))) + when


def _hooks(it: ApplicationDetail) -> None:
    """Print how the hooks of the last operation went, with what they say themselves."""
    state = it.status.get("operationState")
    result = state.get("syncResult") if isinstance(state, Mapping) else None
    resources = result.get("resources") if isinstance(result, Mapping) else None
    found = [one for one in resources or () if isinstance(one, Mapping) and one.get("hookType")]
    if not found:
        return
    output.text("")
    head = Columns(head=("Hook", "Object", "State", "Message"), kept=3, sentence=True)
    tables.table(head, (_hook(one) for one in found[:_MOST_OBJECTS]), "")


def _hook(it: Mapping[str, Any]) -> tuple[str, str, Text, str]:
    name = "/".join(filter(None, (it.get("namespace"), it.get("name"))))
    state = tables.status(str(it.get("hookPhase") or ""))
    return str(it["hookType"]), f"{it.get('kind', '')} {name}", state, str(it.get("message") or "")


def _objects(it: ApplicationDetail) -> None:
    resources = it.status.get("resources")
    found = [each for each in resources or () if isinstance(each, Mapping)]
    if not found:
        return
    output.text("")
    rows = [_object(each) for each in found[:_MOST_OBJECTS]]
    tables.table(Columns(head=("Object", "Sync", "Health"), kept=2), rows, "")
    if len(found) > _MOST_OBJECTS:
        output.text(
            f"and {len(found) - _MOST_OBJECTS} more: gitops app tree {answers.full_name(it)}"
        )


def _object(it: Mapping[str, Any]) -> tuple[str, Text, Text]:
    name = "/".join(filter(None, (it.get("namespace"), it.get("name"))))
    health = it.get("health")
    state = str(health.get("status") or "") if isinstance(health, Mapping) else ""
    return (
        f"{it.get('kind', '')} {name}",
        tables.status(str(it.get("status") or "")),
        tables.status(state),
    )
