"""What strangers, guessers and the denied may take of the service; others do not notice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal

from aiohttp import ClientSession, CookieJar, web
from aiohttp.test_utils import TestServer
from argon2 import PasswordHasher

from bus.http.budget import Budget
from service.api.access.password_check import PASSWORDS
from service.api.routes import table
from service.auth.passwords import Passwords, WaitingTurns
from service.http.endpoint import Endpoint
from tests.service.api.api_fixture import API, CHEAP, PASSWORD, ApiAnswer, ApiFixture, ApiPerson
from tests.service.counted_statements import Statements


class CountedEvaluations(PasswordHasher):
    """The real one, with a count of what it was asked."""

    evaluated = 0

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002
        self.evaluated += 1
        return super().verify(hash, password)


async def log_in(api: ApiFixture, name: str, password: str = PASSWORD) -> ApiAnswer:
    return await api.call("POST", "/login", {"name": name, "password": password})


async def elsewhere(api: ApiFixture, name: str, password: str) -> int:
    """From a browser of its own, that nobody has logged in with."""
    async with (
        ClientSession() as client,
        client.post(
            api.server.make_url("/api/v1/login"), json={"name": name, "password": password}
        ) as response,
    ):
        return response.status


def use_passwords(api: ApiFixture, passwords: Passwords) -> None:
    """An application that serves takes no other part: the one that it has gets other fields."""
    own = api.app[PASSWORDS]
    object.__setattr__(own, "hasher", passwords.hasher)
    object.__setattr__(own, "turns", passwords.turns)


def counting(api: ApiFixture) -> CountedEvaluations:
    hasher = CountedEvaluations(time_cost=1, memory_cost=64, parallelism=1)
    passwords = Passwords(hasher=hasher)
    use_passwords(api, passwords)
    return hasher


async def test_of_many_guesses_at_once_only_the_allowance_is_evaluated(api: ApiFixture) -> None:
    mira, tom = await api.person("viewer"), await api.person("viewer")
    hasher = counting(api)
    async with asyncio.TaskGroup() as tasks:
        guesses = [
            tasks.create_task(elsewhere(api, mira.name, f"guess {n}"), name=f"guess {n}")
            for n in range(120)
        ]
        other = tasks.create_task(elsewhere(api, tom.name, PASSWORD), name="another's login")
    statuses = [task.result() for task in guesses]

    assert other.result() == 200
    assert statuses.count(401) == 5
    assert statuses.count(429) == 115
    assert hasher.evaluated == 5 + 1


async def test_a_person_at_the_address_of_a_guesser_logs_in(api: ApiFixture) -> None:
    mira, tom = await api.person("viewer"), await api.person("viewer")
    for _ in range(8):
        await elsewhere(api, mira.name, "wrong")

    assert await elsewhere(api, tom.name, PASSWORD) == 200


async def test_a_known_device_logs_in_while_its_name_is_being_guessed(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    assert (await log_in(api, mira.name)).status == 200
    for _ in range(8):
        await elsewhere(api, mira.name, "wrong")

    assert await elsewhere(api, mira.name, PASSWORD) == 429
    assert (await log_in(api, mira.name)).status == 200


async def test_a_known_device_may_guess_no_more_than_others(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    assert (await log_in(api, mira.name)).status == 200

    statuses = [(await log_in(api, mira.name, "wrong")).status for _ in range(7)]

    assert statuses == [401] * 5 + [429] * 2


async def test_the_device_of_one_person_is_none_of_another(api: ApiFixture) -> None:
    mira, tom = await api.person("viewer"), await api.person("viewer")
    assert (await log_in(api, tom.name)).status == 200

    for _ in range(5):
        assert (await log_in(api, mira.name, "wrong")).status == 401
    assert (await log_in(api, mira.name)).status == 429


async def test_attempts_from_a_shared_address_wait_a_short_time(api: ApiFixture) -> None:
    for number in range(40):
        await log_in(api, f"name{number}", "wrong")
    refused = await log_in(api, "another", "wrong")
    api.clock.on(seconds=2)

    assert (refused.status, int(refused.headers["Retry-After"]) <= 2) == (429, True)
    assert (await log_in(api, (await api.person("viewer")).name)).status == 200


async def test_right_passwords_at_once_use_up_nothing(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    for _ in range(30):
        assert (await log_in(api, mira.name)).status == 200
    assert await elsewhere(api, mira.name, PASSWORD) == 200


async def test_a_login_that_finds_no_slot_is_not_counted_as_an_attempt(
    api: ApiFixture,
) -> None:
    mira = await api.person("viewer")
    full = WaitingTurns(at_once=1, slots=Budget(total=0, share=0))
    use_passwords(api, Passwords(hasher=CHEAP, turns=full))
    for _ in range(10):
        busy = await log_in(api, mira.name, "wrong")
        assert (busy.status, busy.headers["Retry-After"]) == (503, "1")
    use_passwords(api, Passwords(hasher=CHEAP))

    assert (await log_in(api, mira.name)).status == 200


async def test_a_stranger_over_the_rate_costs_the_database_nothing(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    assert (await mira.get("/me")).status == 200
    api.buckets.rate = 0.001
    api.buckets.burst = 3
    for _ in range(10):
        await api.call("GET", "/me", headers={"Authorization": "Bearer gt_guess"})
    asked = Statements(api.engine)

    strangers = [
        (await api.call("GET", "/me", headers={"Authorization": f"Bearer gt_{n}"})).status
        for n in range(20)
    ]
    seen = asked.count
    known = await mira.get("/me")

    assert (set(strangers), seen) == ({429}, 0)
    assert known.status == 200


async def test_half_sent_bodies_hold_no_connection_of_the_database(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    async with half_sent(api, "/login", 40):
        assert (await mira.get("/me")).status == 200


@asynccontextmanager
async def half_sent(api: ApiFixture, path: str, count: int) -> AsyncIterator[None]:
    """So many requests whose heads are here, as the server says, and whose bodies do not come."""
    lines = (f"POST {API}{path} HTTP/1.1", "Host: x", "Content-Length: 100", "Expect: 100-continue")
    async with AsyncExitStack() as stack:
        for _ in range(count):
            reader, writer = await asyncio.open_connection(api.server.host, api.server.port)
            stack.callback(_abort, writer)
            writer.write("\r\n".join((*lines, "", "")).encode())
            assert b"100 Continue" in await reader.readline()
        yield


def _abort(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def test_what_is_no_credential_is_not_looked_up(api: ApiFixture) -> None:
    asked = Statements(api.engine)
    headers = [{}, {"Authorization": "Bearer x"}, {"Authorization": "Basic YTpi"}]
    statuses = [(await api.call("GET", "/me", headers=it)).status for it in headers]

    assert (statuses, asked.count) == ([401] * 3, 0)


async def test_nine_hundred_denied_requests_are_one_record_and_a_count(api: ApiFixture) -> None:
    viewer, admin = await api.person("viewer"), await api.person("administrator")
    for _ in range(60):
        assert (await viewer.call("POST", "/agents", {"name": "x"})).status == 403
    rows = [row for row in await api.rows("audit") if row.decision == "denied"]
    (counted,) = api.dependencies.denials.rest(api.clock())

    assert len(rows) == 1
    assert counted.detail["count"] == 59
    assert (await admin.get("/audit/verify")).body["ok"]


async def listening(api: ApiFixture, who: ApiPerson) -> int:
    async with api.client.get(
        api.server.make_url("/api/v1/events"), headers={"Authorization": f"Bearer {who.token}"}
    ) as response:
        return response.status


async def test_one_listener_does_not_take_the_places_of_all(api: ApiFixture) -> None:
    mira, tom = await api.person("viewer"), await api.person("viewer")
    api.dependencies.hub.slots.share = 2
    assert api.dependencies.hub.slots.take(mira.id, 2)

    assert await listening(api, mira) == 429
    assert await listening(api, tom) == 200


async def test_the_apis_description_needs_a_login_but_for_the_setting(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    paths = ("/openapi.json", "/docs")
    assert [(await api.call("GET", path)).status for path in paths] == [401, 401]
    assert [(await mira.get(path)).status for path in paths] == [200, 200]

    public = [it for it in table(public_description=True) if it.path in paths]
    assert [await _without_login(api, it) for it in public] == [200, 200]


async def _without_login(api: ApiFixture, endpoint: Endpoint) -> int:
    app = web.Application()
    app.router.add_routes([api.endpoints.route(endpoint)])
    async with (
        TestServer(app) as server,
        ClientSession(cookie_jar=CookieJar()) as client,
        client.get(server.make_url(endpoint.full_path)) as response,
    ):
        return response.status
