"""A house of a few rooms on a real NATS: what the flow tests of the bus have in common."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bus.dispatcher import Dispatcher
from bus.envelope import Envelope
from bus.events import Event
from bus.identity import AppKey
from bus.jetstream import Bus, BusSettings, DispatchOptions
from bus.observer import Hop, Outcome
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


def route_of(room: Callable[..., Any], event: type[Event], **changes: Any) -> Route:
    known = {"name": event.__name__.lower(), "lane": lambda said: str(said.key)}
    return Route(**{**known, "event": event, "room": room, **changes})


@dataclass
class Door:
    """A room that remembers what came in, and lets it out when the test says so."""

    says: Sequence[Event] = ()
    open: asyncio.Event = field(default_factory=asyncio.Event)
    came: list[Any] = field(default_factory=list)
    left: list[Any] = field(default_factory=list)

    async def __call__(self, event: Event) -> Sequence[Event]:
        self.came.append(event)
        await self.open.wait()
        self.left.append(event)
        return self.says


def always_open(*says: Event) -> Door:
    door = Door(says)
    door.open.set()
    return door


@dataclass
class Watch:
    """An observer that remembers."""

    hops: list[Hop] = field(default_factory=list)
    taken: list[tuple[Envelope, float]] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)

    def on_taken(self, route: Route, envelope: Envelope, queue_seconds: float) -> None:
        self.taken.append((envelope, queue_seconds))

    def on_handled(self, hop: Hop) -> None:
        self.hops.append(hop)

    def on_dead(self, route: Route, reason: str) -> None:
        self.dead.append(reason)

    def outcomes(self, room: str = "") -> list[Outcome]:
        return [hop.outcome for hop in self.hops if room in ("", hop.route.name)]


QUICK = DispatchOptions(back_off=0.05, drain_seconds=10)


@asynccontextmanager
async def dispatching(
    bus: Bus, *routes: Route, watch: Watch | None = None, options: DispatchOptions = QUICK
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
