"""`gitops app list`: the status of applications, those that need a person first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from cli import output
from cli.command import new_group
from cli.remote import answers, command_runner, tables
from cli.remote.errors import ServiceError
from cli.remote.formatting import age, short
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import ApplicationDetail
from cli.remote.tables import Columns

app = new_group()

_FIELDS = ("project", "environment", "region", "agent", "health", "sync", "label", "service")


_STATUSES = {
    "health": ("Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown"),
    "sync": ("Synced", "OutOfSync", "Unknown"),
}


class ListSort(StrEnum):
    WORST = "worst"
    NAME = "name"
    CHANGED = "changed"


@app.command(name="list", epilog=f"Exit codes: 0 fine, 2 wrong usage, {command_runner.REFUSALS}.")
def list_applications(
    search: Annotated[str, typer.Argument(metavar="[WORD]", help="Part of a name.")] = "",
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="FIELD=VALUE", help=f"FIELD: {', '.join(_FIELDS)}."),
    ] = None,
    sort: Annotated[ListSort, typer.Option("--sort", help="What comes first.")] = ListSort.WORST,
    context: command_runner.ContextOption = "",
    *,
    as_json: command_runner.JsonOption = False,
) -> None:
    """List applications, those that need a person first."""

    async def work(client: ServiceClient) -> output.Exit:
        query = {"search": search, "sort": str(sort), **_filters(where or ())}
        found = [it async for it in client.pages("/applications", query)]
        if as_json:
            output.lines(found)
        else:
            nothing = "No applications match." if search or where else "No applications yet."
            _table([answers.read(it, ApplicationDetail) for it in found], nothing)
        return output.Exit.FINE

    command_runner.call(context, work)


def _filters(pairs: Sequence[str]) -> dict[str, str]:
    """Make the query: several values of one field are one filter of the service."""
    found: dict[str, list[str]] = {}
    for text in pairs:
        field, equals, value = text.partition("=")
        if field not in _FIELDS or not equals or not value:
            ways = f"FIELD=VALUE with one of {', '.join(_FIELDS)}"
            raise ServiceError(f"--where: expected {ways}, found {text!r}", output.Exit.BAD_INPUT)
        _check(field, value)
        found.setdefault(field, []).append(value)
    return {field: ",".join(values) for field, values in found.items()}


def _check(field: str, value: str) -> None:
    """Refuse a status that does not exist: an empty list would look like good news."""
    words = _STATUSES.get(field, (value,))
    if value not in words:
        text = f"--where: {field} is one of {', '.join(words)}, found {value!r}"
        raise ServiceError(text, output.Exit.BAD_INPUT)


def _table(found: Sequence[ApplicationDetail], nothing: str) -> None:
    now = datetime.now(UTC)
    names = tables.names([f"{it.namespace}/{it.name}" for it in found])
    rows = (
        (
            name,
            tables.status(it.health),
            tables.status(it.sync),
            _agent(it),
            age(max(it.health_since or "", it.sync_since or ""), now),
            short(it.revision),
            it.environment,
            age(it.as_of, now),
            reason(it),
        )
        for name, it in zip(names, found, strict=True)
    )
    head = ("Application", "Health", "Sync", "Agent", "Since", "Revision", "Environment", "As of")
    tables.table(Columns(head=(*head, "Why"), kept=3, sentence=True), rows, nothing)


def _agent(it: ApplicationDetail) -> str:
    """Name the agent, with its status unless it is connected: its last report may be old."""
    return it.agent.name + ("" if it.agent.status in ("connected", "") else f" {it.agent.status}")


def reason(it: ApplicationDetail) -> str:
    """Say in one sentence why an application is not well; empty where nothing is known."""
    if it.sync_failure:
        return f"sync failed: {answers.failure_sentence(it.sync_failure)}"
    if it.cause:
        return answers.cause_sentence(it.cause)
    condition = next(iter(it.conditions), None)
    return it.health_message or (condition.message if condition else "")
