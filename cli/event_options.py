"""The options of `gitops events` as they were typed, whichever source is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from cli.output import Exit


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOptions:
    """`nats` chooses a bus; `last` and `context` choose the service."""

    app: Annotated[
        str, typer.Option("--app", metavar="APP", help="Only this one: NAME or NAMESPACE/NAME.")
    ] = ""
    since: Annotated[str, typer.Option("--since", help="How far back: 30m, 1h (72h are kept).")] = (
        "1h"
    )
    types: Annotated[
        str, typer.Option("--type", help="Only these types, e.g. app.compared,drift.")
    ] = ""
    nats: Annotated[
        str, typer.Option("--nats", metavar="URL", help="Bus to read from; else GITOPS_NATS_URL.")
    ] = ""
    last: Annotated[
        str, typer.Option("--last-event-id", help="Continue after this event of the service.")
    ] = ""
    context: Annotated[
        str, typer.Option("--context", help="Login to use; see gitops context list.")
    ] = ""
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Continue with new events until Ctrl-C.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON per event.")] = (
        False
    )

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(filter(None, self.types.split(",")))

    @property
    def interrupted(self) -> Exit:
        """End `--follow` without a failure: an interrupt is the usual way to end it."""
        return Exit.FINE if self.follow else Exit.INTERRUPTED
