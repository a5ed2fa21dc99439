"""`gitops events`: past and new events, from the service or from the bus of an agent.

With --nats or GITOPS_NATS_URL the events come from that bus; else from the service of the current
login; without a login from the bus of this machine's agent. Both sources print the same lines and
the same JSON: see cli/timeline.py.
"""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import NoReturn

import msgspec
import typer

from agent.buses import bus_url, subscriber_settings
from agent.durations import seconds_of
from agent.settings import Settings
from bus.carrier import CarrierError
from bus.envelope import Envelope
from bus.events import Event, Fact
from bus.events.event import event_types, wire_type
from bus.identity import AppKey
from bus.jetstream import Bus
from cli import output
from cli.command import new_app
from cli.event_options import EventOptions
from cli.local.settings import load_or_stop
from cli.output import Exit
from cli.remote import contexts
from cli.remote.errors import ServiceError
from cli.remote.options import takes
from cli.timeline import CHANGE_TYPES, FACT, TimelineEntry, TimelinePrinter

app = new_app()


@app.command(
    epilog="Exit codes: 0 fine, 1 the bus cannot be reached, 2 wrong usage or settings;"
    " of the service: 3 not reachable, 4 not logged in."
)
@takes(EventOptions)
def events(options: EventOptions) -> None:
    """Replay recent events, and with --follow continue with new ones."""
    output.as_it_comes()
    _check(options.kinds)
    of_service = bool(options.context or options.last)
    if options.nats and of_service:
        output.stop("--context and --last-event-id are of the service, --nats is of a bus: say one")
    of_bus = options.nats or "GITOPS_NATS_URL" in os.environ or not logged_in()
    if of_service or not of_bus:
        print_events(options)
    _events_of_bus(options)


def _check(types: tuple[str, ...]) -> None:
    """Refuse a type that no event has: an empty answer would look like a quiet fleet."""
    facts = [wire_type(it) for it in event_types() if issubclass(it, Fact)]
    names = [*facts, *(it.removeprefix(FACT) for it in facts), *CHANGE_TYPES]
    for requested in types:
        if not any(f"{name}.".startswith(f"{requested}.") for name in names):
            similar = difflib.get_close_matches(requested, names, n=1)
            meant = f"; did you mean {similar[0]}?" if similar else ""
            output.stop(f"--type: no event begins with {requested!r}{meant} See docs/events.md")


def _events_of_bus(options: EventOptions) -> None:
    settings = load_or_stop()
    url = options.nats or bus_url(settings)
    if not url:
        output.stop(
            "no bus to read from: log in (gitops login URL), say --nats URL, set GITOPS_NATS_URL,"
            f" or run an agent with this GITOPS_STATE_DIR ({settings.state_dir})"
        )
    selection = BusSelection(
        app=_app(options.app, settings),
        since=_since(options.since),
        types=options.kinds,
        follow=options.follow,
    )
    try:
        asyncio.run(_print(settings, url, selection, as_json=options.as_json))
    except CarrierError as e:
        output.stop(str(e), output.Exit.NO)
    except KeyboardInterrupt:
        raise typer.Exit(options.interrupted) from None


class BusSelection(msgspec.Struct, frozen=True, kw_only=True):
    app: AppKey | None
    since: datetime
    types: tuple[str, ...]
    follow: bool


async def _print(settings: Settings, url: str, selection: BusSelection, *, as_json: bool) -> None:
    printer = TimelinePrinter()
    async with _facts(settings, url, selection) as facts:
        async for envelope, event in facts:
            entry = entry_of(envelope, event)
            if not entry.fits(selection.types):
                continue
            if as_json:
                output.line(entry.structured)
            else:
                output.text(printer.line(entry))


@asynccontextmanager
async def _facts(
    settings: Settings, url: str, selection: BusSelection
) -> AsyncIterator[AsyncIterator[tuple[Envelope, Event]]]:
    async with (
        Bus.open(subscriber_settings(settings, url)) as bus,
        bus.facts(since=selection.since, follow=selection.follow, app=selection.app) as facts,
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
        output.stop(f"--app: expected NAME or NAMESPACE/NAME, found {name!r}")


def _since(text: str) -> datetime:
    try:
        seconds = seconds_of(text)
    except ValueError as e:
        output.stop(f"--since: {e}")
    assert isinstance(seconds, float)
    return datetime.now(UTC) - timedelta(seconds=seconds)


def logged_in() -> bool:
    """Tell whether there is a login; an unreadable file counts, so that its error is shown."""
    try:
        return bool(contexts.read().current)
    except ServiceError:
        return True


def print_events(options: EventOptions) -> NoReturn:
    from cli.remote import command_runner  # noqa: PLC0415  an HTTP client, for this only
    from cli.remote.audit import ago  # noqa: PLC0415  likewise
    from cli.remote.events import EventOutput, EventRange  # noqa: PLC0415  likewise
    from cli.remote.service_client import ServiceClient  # noqa: PLC0415  likewise

    async def work(client: ServiceClient) -> Exit:
        selection = EventRange(
            app=options.app,
            types=frozenset(options.kinds),
            since=ago(options.since),
            last=options.last,
            follow=options.follow or bool(options.last),
            as_json=options.as_json,
        )
        return await EventOutput(client, selection).run()

    command_runner.call(options.context, work, interrupted=options.interrupted)
