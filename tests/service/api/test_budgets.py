"""What strangers, guessers and the denied may take of the service; others do not notice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Literal

import pytest
from aiohttp import ClientSession, CookieJar, web
from aiohttp.test_utils import TestServer
from argon2 import PasswordHasher

from bus.http.budget import Budget
from service.api.endpoint import Endpoint
from service.api.routes import table
from service.api.serve import route
from service.auth.passwords import Passwords
from service.auth.turns import Turns
from tests.service.api.world import API, CHEAP, PASSWORD, Answered, Person, World
from tests.service.statements import Statements

pytestmark = pytest.mark.flow


class Counted(PasswordHasher):
    """The real one, with a count of what it was asked."""

    evaluated = 0

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002
        self.evaluated += 1
        return super().verify(hash, password)


async def log_in(world: World, name: str, password: str = PASSWORD) -> Answered:
    return await world.call("POST", "/login", {"name": name, "password": password})


async def elsewhere(world: World, name: str, password: str) -> int:
    """From a browser of its own, that nobody has logged in with."""
    async with (
        ClientSession() as client,
        client.post(
            world.server.make_url("/api/v1/login"), json={"name": name, "password": password}
        ) as response,
    ):
        return response.status


def counting(world: World) -> Counted:
    hasher = Counted(time_cost=1, memory_cost=64, parallelism=1)
    passwords = Passwords(hasher=hasher)
    object.__setattr__(world.tools, "passwords", passwords)
    return hasher


async def test_of_many_guesses_at_once_only_the_allowance_is_evaluated(world: World) -> None:
    mira, tom = await world.person("viewer"), await world.person("viewer")
    hasher = counting(world)
    async with asyncio.TaskGroup() as tasks:
        guesses = [
            tasks.create_task(elsewhere(world, mira.name, f"guess {n}"), name=f"guess {n}")
            for n in range(120)
        ]
        other = tasks.create_task(elsewhere(world, tom.name, PASSWORD), name="another's login")
    said = [task.result() for task in guesses]

    assert other.result() == 200
    assert said.count(401) == 5
    assert said.count(429) == 115
    assert hasher.evaluated == 5 + 1


async def test_who_shares_the_guessers_address_logs_in(world: World) -> None:
    mira, tom = await world.person("viewer"), await world.person("viewer")
    for _ in range(8):
        await elsewhere(world, mira.name, "wrong")

    assert await elsewhere(world, tom.name, PASSWORD) == 200


async def test_a_known_device_logs_in_while_its_name_is_being_guessed(world: World) -> None:
    mira = await world.person("viewer")
    assert (await log_in(world, mira.name)).status == 200
    for _ in range(8):
        await elsewhere(world, mira.name, "wrong")

    assert await elsewhere(world, mira.name, PASSWORD) == 429
    assert (await log_in(world, mira.name)).status == 200


async def test_a_known_device_may_guess_no_more_than_others(world: World) -> None:
    mira = await world.person("viewer")
    assert (await log_in(world, mira.name)).status == 200

    said = [(await log_in(world, mira.name, "wrong")).status for _ in range(7)]

    assert said == [401] * 5 + [429] * 2


async def test_the_device_of_one_person_is_none_of_another(world: World) -> None:
    mira, tom = await world.person("viewer"), await world.person("viewer")
    assert (await log_in(world, tom.name)).status == 200

    for _ in range(5):
        assert (await log_in(world, mira.name, "wrong")).status == 401
    assert (await log_in(world, mira.name)).status == 429


async def test_the_wait_of_a_shared_address_is_short(world: World) -> None:
    for number in range(40):
        await log_in(world, f"name{number}", "wrong")
    refused = await log_in(world, "another", "wrong")
    world.clock.on(seconds=2)

    assert (refused.status, int(refused.headers["Retry-After"]) <= 2) == (429, True)
    assert (await log_in(world, (await world.person("viewer")).name)).status == 200


async def test_right_passwords_at_once_use_up_nothing(world: World) -> None:
    mira = await world.person("viewer")
    for _ in range(30):
        assert (await log_in(world, mira.name)).status == 200
    assert await elsewhere(world, mira.name, PASSWORD) == 200


async def test_who_finds_no_place_for_a_hash_comes_again_and_was_not_counted(world: World) -> None:
    mira = await world.person("viewer")
    full = Turns(at_once=1, places=Budget(total=0, share=0))
    object.__setattr__(world.tools, "passwords", Passwords(hasher=CHEAP, turns=full))
    for _ in range(10):
        busy = await log_in(world, mira.name, "wrong")
        assert (busy.status, busy.headers["Retry-After"]) == (503, "1")
    object.__setattr__(world.tools, "passwords", Passwords(hasher=CHEAP))

    assert (await log_in(world, mira.name)).status == 200


async def test_a_stranger_over_the_rate_costs_the_database_nothing(world: World) -> None:
    mira = await world.person("viewer")
    assert (await mira.get("/me")).status == 200
    world.tools.buckets.rate = 0.001
    world.tools.buckets.burst = 3
    for _ in range(10):
        await world.call("GET", "/me", headers={"Authorization": "Bearer gt_guess"})
    asked = Statements(world.engine)

    strangers = [
        (await world.call("GET", "/me", headers={"Authorization": f"Bearer gt_{n}"})).status
        for n in range(20)
    ]
    seen = asked.count
    known = await mira.get("/me")

    assert (set(strangers), seen) == ({429}, 0)
    assert known.status == 200


async def test_half_sent_bodies_hold_no_connection_of_the_database(world: World) -> None:
    mira = await world.person("viewer")
    async with half_sent(world, "/login", 40):
        assert (await mira.get("/me")).status == 200


@asynccontextmanager
async def half_sent(world: World, path: str, count: int) -> AsyncIterator[None]:
    """So many requests whose heads are here, as the server says, and whose bodies do not come."""
    lines = (f"POST {API}{path} HTTP/1.1", "Host: x", "Content-Length: 100", "Expect: 100-continue")
    async with AsyncExitStack() as stack:
        for _ in range(count):
            reader, writer = await asyncio.open_connection(world.server.host, world.server.port)
            stack.callback(_abort, writer)
            writer.write("\r\n".join((*lines, "", "")).encode())
            assert b"100 Continue" in await reader.readline()
        yield


def _abort(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def test_what_is_no_credential_is_not_looked_up(world: World) -> None:
    asked = Statements(world.engine)
    headers = [{}, {"Authorization": "Bearer x"}, {"Authorization": "Basic YTpi"}]
    said = [(await world.call("GET", "/me", headers=it)).status for it in headers]

    assert (said, asked.count) == ([401] * 3, 0)


async def test_nine_hundred_denied_requests_are_one_record_and_a_count(world: World) -> None:
    viewer, admin = await world.person("viewer"), await world.person("administrator")
    for _ in range(60):
        assert (await viewer.call("POST", "/agents", {"name": "x"})).status == 403
    rows = [row for row in await world.rows("audit") if row.decision == "denied"]
    (counted,) = world.parts.denials.rest(world.clock())

    assert len(rows) == 1
    assert counted.detail["count"] == 59
    assert (await admin.get("/audit/verify")).body["ok"]


async def listening(world: World, who: Person) -> int:
    async with world.client.get(
        world.server.make_url("/api/v1/events"), headers={"Authorization": f"Bearer {who.token}"}
    ) as response:
        return response.status


async def test_one_listener_does_not_take_the_places_of_all(world: World) -> None:
    mira, tom = await world.person("viewer"), await world.person("viewer")
    world.parts.hub.places.share = 2
    assert world.parts.hub.places.take(mira.id, 2)

    assert await listening(world, mira) == 429
    assert await listening(world, tom) == 200


async def test_the_apis_description_needs_a_login_but_for_the_setting(world: World) -> None:
    mira = await world.person("viewer")
    paths = ("/openapi.json", "/docs")
    assert [(await world.call("GET", path)).status for path in paths] == [401, 401]
    assert [(await mira.get(path)).status for path in paths] == [200, 200]

    public = [it for it in table(public_description=True) if it.path in paths]
    assert [await _without_login(world, it) for it in public] == [200, 200]


async def _without_login(world: World, endpoint: Endpoint) -> int:
    app = web.Application()
    app.router.add_routes([route(replace(world.tools), endpoint)])
    async with (
        TestServer(app) as server,
        ClientSession(cookie_jar=CookieJar()) as client,
        client.get(server.make_url(endpoint.full_path)) as response,
    ):
        return response.status
