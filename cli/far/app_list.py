"""`gitops app list`: where applications stand, those that need a person first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from cli import say
from cli.columns import Columns
from cli.far import calling, shapes, show
from cli.far.client import Far
from cli.far.errors import FarError
from cli.far.text import age, short

app = calling.new_app()

_FIELDS = ("project", "environment", "region", "agent", "health", "sync", "label", "service")


_STATUSES = {
    "health": ("Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown"),
    "sync": ("Synced", "OutOfSync", "Unknown"),
}


class Sort(StrEnum):
    WORST = "worst"
    NAME = "name"
    CHANGED = "changed"


@app.command(name="list", epilog=f"Exit codes: 0 fine, 2 wrong usage, {calling.REFUSALS}.")
def list_applications(
    search: Annotated[str, typer.Argument(metavar="[WORD]", help="Part of a name.")] = "",
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="FIELD=VALUE", help=f"FIELD: {', '.join(_FIELDS)}."),
    ] = None,
    sort: Annotated[Sort, typer.Option("--sort", help="What comes first.")] = Sort.WORST,
    context: calling.ContextOption = "",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """Applications, those that need a person first."""

    async def work(far: Far) -> say.Exit:
        query = {"search": search, "sort": str(sort), **_filters(where or ())}
        found = [it async for it in far.pages("/applications", query)]
        if as_json:
            say.lines(found)
        else:
            nothing = "No applications match." if search or where else "No applications yet."
            _table([shapes.read(it, shapes.App) for it in found], nothing)
        return say.Exit.FINE

    calling.call(context, work)


def _filters(given: Sequence[str]) -> dict[str, str]:
    """Several values of a field are one filter, as the service takes them."""
    found: dict[str, list[str]] = {}
    for text in given:
        field, equals, value = text.partition("=")
        if field not in _FIELDS or not equals or not value:
            ways = f"FIELD=VALUE with one of {', '.join(_FIELDS)}"
            raise FarError(f"--where: expected {ways}, found {text!r}", say.Exit.BAD_INPUT)
        _check(field, value)
        found.setdefault(field, []).append(value)
    return {field: ",".join(values) for field, values in found.items()}


def _check(field: str, value: str) -> None:
    """A status that there is not would fit nothing, and look like good news."""
    words = _STATUSES.get(field, (value,))
    if value not in words:
        text = f"--where: {field} is one of {', '.join(words)}, found {value!r}"
        raise FarError(text, say.Exit.BAD_INPUT)


def _table(found: Sequence[shapes.App], nothing: str) -> None:
    now = datetime.now(UTC)
    names = show.names([f"{it.namespace}/{it.name}" for it in found])
    rows = (
        (
            name,
            show.status(it.health),
            show.status(it.sync),
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
    show.table(Columns(head=(*head, "Why"), kept=3, sentence=True), rows, nothing)


def _agent(it: shapes.App) -> str:
    """With its status where that is not well: what it said last may be old."""
    return it.agent.name + ("" if it.agent.status in ("connected", "") else f" {it.agent.status}")


def reason(it: shapes.App) -> str:
    """What is wrong with an application, in one sentence; empty where nothing is known."""
    if it.sync_failure:
        return f"sync failed: {it.sync_failure.sentence}"
    if it.cause:
        return it.cause.sentence
    condition = next(iter(it.conditions), None)
    return it.health_message or str((condition or {}).get("message", ""))
