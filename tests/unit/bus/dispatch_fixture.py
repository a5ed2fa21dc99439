"""A dispatcher with a few handlers on a real NATS, shared by the tests of the bus."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bus.dispatch_observer import DispatchHop, DispatchOutcome
from bus.dispatcher import Dispatcher
from bus.envelope import Envelope
from bus.events import Event
from bus.identity import AppKey
from bus.jetstream import Bus, BusSettings, DispatchOptions
from bus.route import Route
from bus.signature import KEY_BYTES, CommandKey
from tests.support import eventually

COMMANDS = CommandKey(bytes(range(KEY_BYTES)))
"""As the agent has one: without it no command is handled."""
APP = AppKey("argocd", "guestbook")


def app(number: int) -> AppKey:
    return AppKey("argocd", f"app-{number}")


def settings_of(url: str, **changes: Any) -> BusSettings:
    """An agent of this test alone, on whatever NATS."""
    known = {"url": url, "account": "test", "agent": uuid.uuid4().hex[:12], "command_key": COMMANDS}
    return BusSettings(**{**known, **changes})


def route_of(handler: Callable[..., Any], event: type[Event], **changes: Any) -> Route:
    known = {"name": event.__name__.lower(), "lane": lambda subject: str(subject.key)}
    return Route(**{**known, "event": event, "handler": handler, **changes})


@dataclass
class GateHandler:
    """A handler that remembers what came in, and lets it out when the test says so."""

    emitted: Sequence[Event] = ()
    open: asyncio.Event = field(default_factory=asyncio.Event)
    came: list[Any] = field(default_factory=list)
    left: list[Any] = field(default_factory=list)

    async def __call__(self, event: Event) -> Sequence[Event]:
        self.came.append(event)
        await self.open.wait()
        self.left.append(event)
        return self.emitted


def always_open(*emitted: Event) -> GateHandler:
    door = GateHandler(emitted)
    door.open.set()
    return door


@dataclass
class DispatchRecorder:
    """An observer that remembers."""

    hops: list[DispatchHop] = field(default_factory=list)
    taken: list[tuple[Envelope, float]] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)

    def on_taken(self, route: Route, envelope: Envelope, queue_seconds: float) -> None:
        self.taken.append((envelope, queue_seconds))

    def on_handled(self, hop: DispatchHop) -> None:
        self.hops.append(hop)

    def on_dead(self, route: Route, reason: str) -> None:
        self.dead.append(reason)

    def outcomes(self, handler: str = "") -> list[DispatchOutcome]:
        return [hop.outcome for hop in self.hops if handler in ("", hop.route.name)]


QUICK = DispatchOptions(back_off=0.05, drain_seconds=10)


@asynccontextmanager
async def dispatching(
    bus: Bus,
    *routes: Route,
    watch: DispatchRecorder | None = None,
    options: DispatchOptions = QUICK,
) -> AsyncIterator[Dispatcher]:
    """A dispatcher that takes, and has drained when the block is left."""
    dispatcher = bus.dispatcher(routes, watch, options)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(dispatcher.run())
        await dispatcher.ready()
        yield dispatcher
        dispatcher.stop()


async def stored(bus: Bus, stream: str) -> int:
    """How many messages a stream holds."""
    info = await bus.connection.jetstream.stream_info(bus.scope.name(stream))
    return info.state.messages


async def holds(bus: Bus, **expected: int) -> None:
    """Wait until streams hold so many messages: the server acts on an ack when it can."""

    async def so() -> bool:
        found = {kind: await stored(bus, kind) for kind in expected}
        assert found == expected
        return True

    await eventually(so)
