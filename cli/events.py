"""`gitops events`: what happened and what happens, from the service or from the bus's facts.

With --nats or GITOPS_NATS_URL it is read from that bus. Else a login decides, and cli/far/events.py
tells; without one it is the bus of this machine's agent. Both print the same lines and the same
JSON: see cli/timeline.py.
"""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec
import typer

from agent.buses import bus_url, subscriber_settings
from agent.durations import seconds_of
from agent.settings import Settings
from bus.carrier import CarrierError
from bus.envelope import Envelope
from bus.events import Event, Fact
from bus.events.registry import event_types, wire_type
from bus.identity import AppKey
from bus.jetstream import Bus
from cli import say
from cli.far import source
from cli.settings import load_or_stop
from cli.timeline import CHANGE_TYPES, FACT, TimelineEntry, TimelinePrinter

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(
    epilog="Exit codes: 0 fine, 1 the bus cannot be reached, 2 wrong usage or settings;"
    " of the service: 3 not reachable, 4 not logged in."
)
def events(  # noqa: PLR0913  a command's options are its parameters
    app_name: Annotated[
        str, typer.Option("--app", help="Only this application: NAME or NAMESPACE/NAME.")
    ] = "",
    since: Annotated[str, typer.Option(help="How far back: 30m, 1h (72h are kept).")] = "1h",
    types: Annotated[str, typer.Option("--type", help="Only these, e.g. app.compared,drift.")] = "",
    nats: Annotated[str, typer.Option(help="URL of the bus; else GITOPS_NATS_URL.")] = "",
    last: Annotated[
        str, typer.Option("--last-event-id", help="Of the service: continue after this one.")
    ] = "",
    context: Annotated[str, typer.Option("--context", help="See gitops context list.")] = "",
    *,
    follow: Annotated[bool, typer.Option("--follow", help="Do not stop at now.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON per fact.")] = False,
) -> None:
    """Replay the facts since then, and with --follow go on until interrupted."""
    say.as_it_comes()
    asked = source.Asked(
        app=app_name, since=since, types=types, last=last, follow=follow, as_json=as_json
    )
    _check(asked.kinds)
    of_service = bool(context or last)
    if nats and of_service:
        say.stop("--context and --last-event-id are of the service, --nats is of a bus: say one")
    if of_service or not (nats or "GITOPS_NATS_URL" in os.environ or not source.logged_in()):
        source.tell(context, asked)
    _tell_from_bus(nats, asked)


def _check(types: tuple[str, ...]) -> None:
    """A type that nothing has would look like a quiet fleet."""
    facts = [wire_type(it) for it in event_types() if issubclass(it, Fact)]
    names = [*facts, *(it.removeprefix(FACT) for it in facts), *CHANGE_TYPES]
    for wanted in types:
        if not any(f"{name}.".startswith(f"{wanted}.") for name in names):
            near = difflib.get_close_matches(wanted, names, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            say.stop(f"--type: no event begins with {wanted!r}{meant} See docs/events.md")


def _tell_from_bus(nats: str, asked: source.Asked) -> None:
    settings = load_or_stop()
    url = nats or bus_url(settings)
    if not url:
        say.stop(
            "no bus to read from: log in (gitops login URL), say --nats URL, set GITOPS_NATS_URL,"
            f" or run an agent with this GITOPS_STATE_DIR ({settings.state_dir})"
        )
    wanted = Wanted(
        app=_app(asked.app, settings),
        since=_since(asked.since),
        types=asked.kinds,
        follow=asked.follow,
    )
    try:
        asyncio.run(_print(settings, url, wanted, as_json=asked.as_json))
    except CarrierError as e:
        say.stop(str(e), say.Exit.NO)
    except KeyboardInterrupt:
        raise typer.Exit(asked.interrupted) from None


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    app: AppKey | None
    since: datetime
    types: tuple[str, ...]
    follow: bool


async def _print(settings: Settings, url: str, wanted: Wanted, *, as_json: bool) -> None:
    printer = TimelinePrinter()
    async with _facts(settings, url, wanted) as facts:
        async for envelope, event in facts:
            entry = entry_of(envelope, event)
            if not entry.fits(wanted.types):
                continue
            if as_json:
                say.line(entry.structured)
            else:
                say.text(printer.line(entry))


@asynccontextmanager
async def _facts(
    settings: Settings, url: str, wanted: Wanted
) -> AsyncIterator[AsyncIterator[tuple[Envelope, Event]]]:
    async with (
        Bus.open(subscriber_settings(settings, url)) as bus,
        bus.facts(since=wanted.since, follow=wanted.follow, app=wanted.app) as facts,
    ):
        yield facts


def entry_of(envelope: Envelope, event: Event) -> TimelineEntry:
    return TimelineEntry(
        id=envelope.id,
        source=envelope.source,
        type=envelope.type,
        subject=envelope.subject,
        time=envelope.time,
        correlation=envelope.correlation,
        cause=envelope.cause,
        data=msgspec.to_builtins(event),
    )


def _app(name: str, settings: Settings) -> AppKey | None:
    if not name:
        return None
    try:
        return AppKey.parse(name if "/" in name else f"{settings.namespace}/{name}")
    except ValueError:
        say.stop(f"--app: expected NAME or NAMESPACE/NAME, found {name!r}")


def _since(text: str) -> datetime:
    try:
        seconds = seconds_of(text)
    except ValueError as e:
        say.stop(f"--since: {e}")
    assert isinstance(seconds, float)
    return datetime.now(UTC) - timedelta(seconds=seconds)
