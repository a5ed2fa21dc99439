"""Commands that this agent did not publish: none is carried out, and everybody hears of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from msgspec.structs import replace as with_fields

from bus.codec import Message
from bus.events import CommandRefused, RefreshNow, SyncApp, TerminateOperation
from bus.events.event import Command
from bus.identity import AppKey
from bus.jetstream import Bus
from bus.sender import Sender
from bus.signature import HEADER, CommandKey
from bus.subjects import Scope
from bus.trace import Trace
from tests.bus.rooms import (
    APP,
    COMMANDS,
    always_open,
    app,
    dispatching,
    holds,
    route_of,
    settings_of,
)
from tests.support import eventually

pytestmark = pytest.mark.flow

OTHERS = CommandKey(b"x" * 32)
LONG_AGO = datetime.now(UTC) - timedelta(hours=1)
Forge = Callable[[Message, Scope], Message]


def forged(key: AppKey, command_id: str = "forged-1") -> SyncApp:
    return SyncApp(id=command_id, actor="ceo@victim", app=key, prune=True)


def message_of(scope: Scope, command: Command, key: CommandKey) -> Message:
    sender = Sender(scope, key)
    return sender.first(command, correlation="", trace=Trace.start(), message_id="")


def unsigned(message: Message, scope: Scope) -> Message:
    headers = {name: text for name, text in message.headers.items() if name != HEADER}
    return with_fields(message, headers=headers)


def signed_by_another(message: Message, scope: Scope) -> Message:
    return OTHERS.sign(message)


def with_other_content(message: Message, scope: Scope) -> Message:
    return with_fields(message, data=message.data.replace(b"forged-1", b"forged-2"))


def about_another_application(message: Message, scope: Scope) -> Message:
    other = message_of(scope, forged(app(2)), COMMANDS)
    return with_fields(message, subject=other.subject)


def with_another_time(message: Message, scope: Scope) -> Message:
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    return with_fields(message, headers={**message.headers, "ce-time": later})


def of_another_agent(message: Message, scope: Scope) -> Message:
    elsewhere = message_of(replace_agent(scope), forged(APP), COMMANDS)
    return with_fields(elsewhere, subject=message.subject)


def kept_for_two_days(message: Message, scope: Scope) -> Message:
    past = (datetime.now(UTC) - timedelta(days=2)).isoformat()
    return COMMANDS.sign(with_fields(message, headers={**message.headers, "ce-time": past}))


def replace_agent(scope: Scope) -> Scope:
    return msgspec.structs.replace(scope, agent="another")


FORGERIES: dict[str, tuple[Forge, str]] = {
    "unsigned": (unsigned, "it carries no signature of this agent"),
    "signed by another key": (signed_by_another, "its signature is not this agent's"),
    "another content": (with_other_content, "its signature is not this agent's"),
    "another application": (about_another_application, "its signature is not this agent's"),
    "another time": (with_another_time, "its signature is not this agent's"),
    "of another agent": (of_another_agent, "its signature is not this agent's"),
    "kept and repeated": (kept_for_two_days, "more than 1 day ago"),
}


@pytest.fixture
async def bus(nats_url: str) -> AsyncIterator[Bus]:
    async with Bus.open(settings_of(nats_url)) as bus:
        await bus.provision()
        yield bus


async def refusals(bus: Bus) -> list[CommandRefused]:
    async with bus.facts(since=LONG_AGO, follow=False) as facts:
        return [fact async for _, fact in facts if isinstance(fact, CommandRefused)]


@pytest.mark.parametrize("name", FORGERIES)
async def test_a_forged_command_is_a_dead_letter_and_a_fact(bus: Bus, name: str) -> None:
    forge, reason = FORGERIES[name]
    room = always_open()
    message = forge(message_of(bus.scope, forged(APP), COMMANDS), bus.scope)
    async with dispatching(bus, route_of(room, SyncApp)):
        await bus.publisher.publish([message])
        await holds(bus, CMD=0, DEAD=1)
        await bus.publish(SyncApp(id="true", actor="jane", app=APP))
        await eventually(lambda: room.left)
    assert [command.id for command in room.left] == ["true"]
    (refused,) = await refusals(bus)
    assert (refused.command, refused.claimed_actor) == ("sync.v1", "ceo@victim")
    assert reason in refused.message


@pytest.mark.parametrize("command", [SyncApp, RefreshNow, TerminateOperation])
async def test_no_kind_of_command_is_taken_unsigned(bus: Bus, command: type[Command]) -> None:
    room = always_open()
    said = command(id="1", actor="ceo@victim", app=APP)  # type: ignore[call-arg]
    async with dispatching(bus, route_of(room, command)):
        await bus.publisher.publish([message_of(bus.scope, said, CommandKey())])
        await holds(bus, CMD=0, DEAD=1)
    assert room.came == []
    assert [one.command for one in await refusals(bus)] == [command.name]


async def test_a_standby_with_the_same_key_carries_out_what_the_former_leader_published(
    nats_url: str,
) -> None:
    settings = settings_of(nats_url)
    async with Bus.open(settings) as former:
        await former.provision()
        await former.publish(SyncApp(id="1", actor="jane", app=APP))
    room = always_open()
    standby = replace(settings, command_key=CommandKey(COMMANDS.secret))
    async with Bus.open(standby) as bus, dispatching(bus, route_of(room, SyncApp)):
        await eventually(lambda: room.left)


async def test_a_process_without_a_key_carries_out_no_command(nats_url: str) -> None:
    room = always_open()
    async with Bus.open(settings_of(nats_url, command_key=CommandKey())) as bus:
        await bus.provision()
        async with dispatching(bus, route_of(room, SyncApp)):
            await bus.publish(SyncApp(id="1", actor="jane", app=APP))
            await holds(bus, CMD=0, DEAD=1)
    assert room.came == []


def test_the_key_is_in_no_representation() -> None:
    assert "secret-word" not in repr(
        settings_of("nats://n", command_key=CommandKey(b"secret-word"))
    )
