"""Reading facts: what `gitops events` and every subscriber is promised."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import nats
import pytest

from bus.envelope import Envelope, Message, decode
from bus.events import Compared, Event, Fact, HealthAssessed
from bus.identity import AppKey, Revision
from bus.jetstream import Bus
from bus.status import HealthStatus, SyncStatus
from bus.subjects import subject_of
from playground.server import Server
from tests.support import eventually
from tests.unit.bus.dispatch_fixture import app, settings_of

LONG_AGO = datetime.now(UTC) - timedelta(hours=1)


def compared(key: AppKey, changed: int) -> Compared:
    revision = Revision("4f1c2a9")
    return Compared(app=key, status=SyncStatus.OUT_OF_SYNC, revision=revision, changed=changed)


@pytest.fixture
async def bus(nats_url: str) -> AsyncIterator[Bus]:
    async with Bus.open(settings_of(nats_url)) as bus:
        await bus.provision()
        yield bus


async def everything(facts: AsyncIterator[tuple[Envelope, Event]]) -> list[object]:
    return [fact async for _, fact in facts]


async def first(facts: AsyncIterator[tuple[Envelope, Event]], count: int) -> list[Fact]:
    seen: list[Fact] = []
    async with asyncio.timeout(120):
        async for _, fact in facts:
            assert isinstance(fact, Fact)
            seen.append(fact)
            if len(seen) == count:
                break
    return seen


async def test_what_happened_is_replayed_in_order_and_reading_ends_there(bus: Bus) -> None:
    published = [compared(app(number), number) for number in range(1000)]
    await bus.publish(*published)
    async with bus.facts(since=LONG_AGO, follow=False) as facts:
        assert await everything(facts) == published


async def test_the_latest_of_each_subject_is_read_and_no_other_kind(bus: Bus) -> None:
    assert await bus.oldest_fact() is None
    for turn in range(3):
        await bus.publish(compared(app(1), turn), compared(app(2), 10 + turn))
    await bus.publish(HealthAssessed(app=app(1), status=HealthStatus.HEALTHY))
    async with bus.latest_facts(Compared) as facts:
        assert await everything(facts) == [compared(app(1), 2), compared(app(2), 12)]
    oldest = await bus.oldest_fact()
    assert oldest is not None
    assert oldest.subject == str(app(1))


async def test_all_that_is_kept_of_one_kind_is_read(bus: Bus) -> None:
    published = [compared(app(1), turn) for turn in range(3)]
    await bus.publish(*published, HealthAssessed(app=app(1), status=HealthStatus.HEALTHY))
    async with bus.kept_facts(Compared) as facts:
        assert await everything(facts) == published


async def test_reading_ends_at_once_where_nothing_happened(bus: Bus) -> None:
    async with bus.facts(since=LONG_AGO, follow=False) as facts:
        assert await everything(facts) == []


async def test_following_replays_and_then_hears_what_comes(bus: Bus) -> None:
    await bus.publish(compared(app(1), 1))
    async with bus.facts(since=LONG_AGO) as facts:
        assert await first(facts, 1) == [compared(app(1), 1)]
        await bus.publish(compared(app(1), 2))
        assert await first(facts, 1) == [compared(app(1), 2)]


async def test_following_without_a_past_begins_now(bus: Bus) -> None:
    await bus.publish(compared(app(1), 1))
    async with bus.facts() as facts:
        await bus.publish(compared(app(1), 2))
        assert await first(facts, 1) == [compared(app(1), 2)]


async def test_facts_before_since_are_left_out(bus: Bus) -> None:
    await bus.publish(compared(app(1), 1))
    since = datetime.now(UTC)
    await bus.publish(compared(app(1), 2))
    async with bus.facts(since=since, follow=False) as facts:
        assert await everything(facts) == [compared(app(1), 2)]


async def test_the_facts_of_one_application_can_be_had_alone(bus: Bus) -> None:
    mine = [compared(app(1), 1), HealthAssessed(app=app(1), status=HealthStatus.HEALTHY)]
    await bus.publish(mine[0], compared(app(2), 1), mine[1])
    async with bus.facts(since=LONG_AGO, follow=False, app=app(1)) as facts:
        assert await everything(facts) == mine


async def test_a_fact_of_a_type_we_do_not_know_is_left_out(bus: Bus) -> None:
    fact = compared(app(1), 1)
    stranger = Message(
        subject=subject_of(bus.scope, fact),
        headers={"ce-id": "1", "ce-type": "fact.app.teleported.v1"},
        data=b"{}",
    )
    await bus.publish(fact)
    await bus.publisher.publish([stranger])
    async with bus.facts(since=LONG_AGO, follow=False) as facts:
        assert await everything(facts) == [fact]


async def test_following_goes_on_after_nats_was_killed_without_a_gap_or_a_repeat(
    own_nats: Server,
) -> None:
    async with Bus.open(settings_of(own_nats.url)) as bus:
        await bus.provision()
        async with bus.facts(since=LONG_AGO) as facts:
            await bus.publish(compared(app(1), 1))
            assert [fact.changed for fact in await first(facts, 1)] == [1]  # type: ignore[attr-defined]
            own_nats.kill()
            await eventually(lambda: not bus.is_connected)
            await own_nats.start()
            await bus.publish(compared(app(1), 2), compared(app(1), 3))
            assert [fact.changed for fact in await first(facts, 2)] == [2, 3]  # type: ignore[attr-defined]


async def test_any_nats_client_can_subscribe(nats_url: str, bus: Bus) -> None:
    """As docs/events.md says: a plain subscription, the CloudEvents headers, the JSON."""
    client = await nats.connect(nats_url)
    subscription = await client.subscribe(f"{bus.scope.prefix}.fact.app.compared.>")
    await client.flush()
    (event_id,) = await bus.publish(compared(app(1), 1))
    message = await subscription.next_msg(timeout=180)
    envelope, fact = decode(message.headers, message.data)
    await client.close()
    assert fact == compared(app(1), 1)
    assert message.headers is not None
    assert message.headers["ce-type"] == "fact.app.compared.v1"
    assert message.headers["ce-subject"] == "argocd/app-1"
    assert (message.headers["ce-id"], envelope.id) == (event_id, event_id)
