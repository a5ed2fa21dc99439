"""Commands that this agent did not publish: none is carried out, and everybody hears of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from msgspec.structs import replace as with_fields

from bus.envelope import Message
from bus.event_sender import EventSender
from bus.events import CommandRefused, RefreshNow, SyncApp, TerminateOperation
from bus.events.event import Command
from bus.identity import AppKey
from bus.jetstream import Bus
from bus.signature import HEADER, CommandKey
from bus.subjects import AgentScope
from bus.trace import Trace
from tests.support import eventually
from tests.unit.bus.dispatch_fixture import (
    APP,
    COMMANDS,
    always_open,
    app,
    dispatching,
    holds,
    route_of,
    settings_of,
)

OTHERS = CommandKey(b"x" * 32)
LONG_AGO = datetime.now(UTC) - timedelta(hours=1)
Forge = Callable[[Message, AgentScope], Message]


def forged(key: AppKey, command_id: str = "forged-1") -> SyncApp:
    return SyncApp(id=command_id, actor="ceo@victim", app=key, prune=True)


def message_of(scope: AgentScope, command: Command, key: CommandKey) -> Message:
    sender = EventSender(scope, key)
    return sender.first(command, correlation="", trace=Trace.start(), message_id="")


def unsigned(message: Message, scope: AgentScope) -> Message:
    headers = {name: text for name, text in message.headers.items() if name != HEADER}
    return with_fields(message, headers=headers)


def signed_by_another(message: Message, scope: AgentScope) -> Message:
    return OTHERS.sign(message)


def with_other_content(message: Message, scope: AgentScope) -> Message:
    return with_fields(message, data=message.data.replace(b"forged-1", b"forged-2"))


def about_another_application(message: Message, scope: AgentScope) -> Message:
    other = message_of(scope, forged(app(2)), COMMANDS)
    return with_fields(message, subject=other.subject)


def with_another_time(message: Message, scope: AgentScope) -> Message:
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    return with_fields(message, headers={**message.headers, "ce-time": later})


def of_another_agent(message: Message, scope: AgentScope) -> Message:
    elsewhere = message_of(replace_agent(scope), forged(APP), COMMANDS)
    return with_fields(elsewhere, subject=message.subject)


def kept_for_two_days(message: Message, scope: AgentScope) -> Message:
    two_days_ago = (datetime.now(UTC) - timedelta(days=2)).isoformat()
    return COMMANDS.sign(with_fields(message, headers={**message.headers, "ce-time": two_days_ago}))


def replace_agent(scope: AgentScope) -> AgentScope:
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
    handler = always_open()
    message = forge(message_of(bus.scope, forged(APP), COMMANDS), bus.scope)
    async with dispatching(bus, route_of(handler, SyncApp)):
        await bus.publisher.publish([message])
        await holds(bus, CMD=0, DEAD=1)
        await bus.publish(SyncApp(id="true", actor="jane", app=APP))
        await eventually(lambda: handler.left)
    assert [command.id for command in handler.left] == ["true"]
    (refused,) = await refusals(bus)
    assert (refused.command, refused.claimed_actor) == ("sync.v1", "ceo@victim")
    assert reason in refused.message


@pytest.mark.parametrize("command", [SyncApp, RefreshNow, TerminateOperation])
async def test_no_kind_of_command_is_taken_unsigned(bus: Bus, command: type[Command]) -> None:
    handler = always_open()
    forged = command(id="1", actor="ceo@victim", app=APP)  # type: ignore[call-arg]
    async with dispatching(bus, route_of(handler, command)):
        await bus.publisher.publish([message_of(bus.scope, forged, CommandKey())])
        await holds(bus, CMD=0, DEAD=1)
    assert handler.came == []
    assert [one.command for one in await refusals(bus)] == [command.name]


async def test_a_standby_with_the_same_key_carries_out_what_the_former_leader_published(
    nats_url: str,
) -> None:
    settings = settings_of(nats_url)
    async with Bus.open(settings) as former:
        await former.provision()
        await former.publish(SyncApp(id="1", actor="jane", app=APP))
    handler = always_open()
    standby = replace(settings, command_key=CommandKey(COMMANDS.secret))
    async with Bus.open(standby) as bus, dispatching(bus, route_of(handler, SyncApp)):
        await eventually(lambda: handler.left)


async def test_a_process_without_a_key_carries_out_no_command(nats_url: str) -> None:
    handler = always_open()
    async with Bus.open(settings_of(nats_url, command_key=CommandKey())) as bus:
        await bus.provision()
        async with dispatching(bus, route_of(handler, SyncApp)):
            await bus.publish(SyncApp(id="1", actor="jane", app=APP))
            await holds(bus, CMD=0, DEAD=1)
    assert handler.came == []


def test_the_key_is_in_no_representation() -> None:
    assert "secret-word" not in repr(
        settings_of("nats://n", command_key=CommandKey(b"secret-word"))
    )
