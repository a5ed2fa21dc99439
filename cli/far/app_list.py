"""`gitops app list|get`: where applications stand, those that need a person first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from cli import say
from cli.far import calling, find, shapes, show
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
            _table([shapes.read(it, shapes.App) for it in found])
        return say.Exit.FINE

    calling.call(context, work)


@app.command(epilog=f"Exit codes: 0 fine, 2 there is no such application, {calling.REFUSALS}.")
def get(
    application: calling.AppArgument,
    context: calling.ContextOption = "",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """One application: where it stands, and what is wrong with it."""

    async def work(far: Far) -> say.Exit:
        found = await find.application(far, application)
        plain = await far.get(find.path("applications", found.id))
        if as_json:
            say.line(plain)
        else:
            _one(shapes.read(plain, shapes.App), datetime.now(UTC))
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


def _table(found: Sequence[shapes.App]) -> None:
    now = datetime.now(UTC)
    head = ("Application", "Agent", "Environment", "Health", "Sync", "Since", "Revision", "As of")
    rows = (
        (
            f"{it.namespace}/{it.name}",
            it.agent.name,
            it.environment,
            show.status(it.health),
            show.status(it.sync),
            age(max(it.health_since or "", it.sync_since or ""), now),
            short(it.revision),
            _as_of(it, now),
        )
        for it in found
    )
    show.table(head, rows, "No application fits.")


def _as_of(it: shapes.App, now: datetime) -> str:
    away = "" if it.agent.status in ("connected", "") else f", agent {it.agent.status}"
    return age(it.as_of, now) + away


def _one(it: shapes.App, now: datetime) -> None:
    show.facts(
        (
            ("Application", it.full_name),
            ("Health", show.status(it.health)),
            ("", it.health_message),
            ("since", age(it.health_since, now)),
            ("Sync", show.status(it.sync)),
            ("since", age(it.sync_since, now)),
            ("Source", f"{it.repository} {it.path} {it.target_revision}"),
            ("Revision", short(it.revision)),
            ("Operation", it.phase),
            ("As of", _as_of(it, now)),
        )
    )
    for condition in it.conditions:
        show.line("!", str(condition.get("type", "")), str(condition.get("message", "")))
