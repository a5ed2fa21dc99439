"""Which applications are meant: by their names, or all that have some labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from cli.far import find, shapes
from cli.far.client import Far
from cli.far.errors import FarError
from cli.say import Exit

AppsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="APP...", help="NAME, NAMESPACE/NAME, AGENT/NAMESPACE/NAME or an id."),
]
SelectorOption = Annotated[
    list[str] | None,
    typer.Option(
        "--selector",
        metavar="LABEL=VALUE",
        help="All applications with this label; repeated: with all of these labels.",
    ),
]


async def applications(
    far: Far, names: Sequence[str] | None, selector: Sequence[str] | None
) -> list[shapes.App]:
    """At least one; raises FarError where it is not clear which."""
    if bool(names) == bool(selector):
        raise FarError("say which: either names or --selector LABEL=VALUE", Exit.BAD_INPUT)
    if names:
        found = [await find.application(far, it) for it in names]
        return list({it.id: it for it in found}.values())
    query = {"label": ",".join(selector or ()), "sort": "name"}
    found = [shapes.read(it, shapes.App) async for it in far.pages("/applications", query)]
    if not found:
        raise FarError(f"no application has {' and '.join(selector or ())}", Exit.BAD_INPUT)
    return found
