"""The key that signs sessions is replaced while agents come and go, on every replica."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest

from service.app import now
from service.gateway.keys import SigningKeys
from service.rotation import rotate_signing_key
from service.store.tables import audit, service_keys
from tests.service.client import connect, open_session
from tests.service.world import World, open_service, settings

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass
class Clock:
    now: datetime = field(default=NOON)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
async def second(database_url: str, world: World) -> AsyncIterator[World]:
    """Another replica on the same database."""
    async with open_service(settings(database_url)) as service:
        yield World(service)


async def test_replicas_accept_the_old_and_the_new_one_at_once(
    world: World, second: World, database_url: str
) -> None:
    identity = await world.enrolled()
    elsewhere = replace(identity, url=second.service.url)
    old = (await open_session(identity)).token
    await rotate_signing_key(settings(database_url), now(), at_once=False)
    new = (await open_session(identity)).token
    for token in (old, new):
        async with connect(elsewhere, token) as link:
            await link.hello(elsewhere, "e")
    assert len(await world.rows(service_keys)) == 2
    (record,) = [row for row in await world.rows(audit) if row.action == "signing-key.rotated"]
    assert record.detail == {"atOnce": False}


async def test_the_old_one_is_refused_when_its_last_session_is_over(
    world: World, database_url: str
) -> None:
    clock = Clock()
    keys = SigningKeys(engine=world.service.parts.engine, clock=clock)
    old = await keys.sign({"sub": "old"})
    quarter = settings(database_url, session_seconds=900)
    await rotate_signing_key(quarter, NOON, at_once=False)
    new = await keys.sign({"sub": "new"})
    clock.now = NOON + timedelta(seconds=899)
    assert [await keys.read(it) is not None for it in (old, new)] == [True, True]
    clock.now = NOON + timedelta(seconds=901)
    assert [await keys.read(it) is not None for it in (old, new)] == [False, True]


async def test_a_second_rotation_prolongs_nothing(world: World, database_url: str) -> None:
    clock = Clock()
    keys = SigningKeys(engine=world.service.parts.engine, clock=clock)
    first = await keys.sign({"sub": "first"})
    quarter = settings(database_url, session_seconds=900)
    await rotate_signing_key(quarter, NOON, at_once=False)
    await rotate_signing_key(quarter, NOON + timedelta(seconds=600), at_once=False)
    clock.now = NOON + timedelta(seconds=901)
    assert await keys.read(first) is None
    await rotate_signing_key(quarter, clock.now, at_once=False)
    assert len(await world.rows(service_keys)) == 3


async def test_what_a_stolen_key_signed_is_refused_at_once(
    world: World, second: World, database_url: str
) -> None:
    identity = await world.enrolled()
    elsewhere = replace(identity, url=second.service.url)
    old = (await open_session(identity)).token
    await rotate_signing_key(settings(database_url), now(), at_once=True)
    with pytest.raises(aiohttp.WSServerHandshakeError):
        async with connect(elsewhere, old):
            pass
    async with connect(elsewhere):
        pass
