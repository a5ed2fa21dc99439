"""Every stream ends with the login, token, role or binding that opened it.

A stream looks at its access once a minute by itself; these tests wait for less, so what ends the
stream is the signal of the change.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import aiohttp
import pytest
from sqlalchemy import update

from service.store.tables import api_tokens, projects
from tests.service.api.api_fixture import API, PASSWORD, ApiFixture, ApiPerson
from tests.service.counted_statements import Statements
from tests.support import eventually

_WITHIN = 90.0


@dataclass
class StreamOwner:
    """Somebody with a role of their own, and what their streams are opened with."""

    api: ApiFixture
    admin: ApiPerson
    who: ApiPerson
    application: str
    headers: dict[str, str] = field(default_factory=dict)
    csrf: str = ""


@asynccontextmanager
async def opened(reader: StreamOwner, path: str) -> AsyncIterator[aiohttp.ClientResponse]:
    url = reader.api.server.make_url(API + path.format(id=reader.application))
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
        http.get(url, headers=reader.headers) as response,
    ):
        assert response.status == 200, await response.text()
        yield response


async def end_of(response: aiohttp.ClientResponse) -> str:
    """The reason of the last event; the stream is over after it."""
    name, reason = "", ""
    async with asyncio.timeout(_WITHIN):
        async for raw in response.content:
            line = raw.decode().rstrip("\n")
            name = line.removeprefix("event: ") if line.startswith("event: ") else name
            if line.startswith("data: ") and name == "end":
                reason = json.loads(line.removeprefix("data: "))["reason"]
    return reason


@pytest.fixture
async def reader(api: ApiFixture) -> StreamOwner:
    admin = await api.person("administrator")
    views = ["gitops_application_view", "audit_view"]
    role = await api.put("roles", account_id=api.account, name="reader", permissions=views)
    api.roles[api.account + "reader"] = role
    who = await api.person("reader")
    application = await api.application(await api.agent("prod"), "shop")
    headers = {"Authorization": f"Bearer {who.token}"}
    return StreamOwner(api, admin, who, application, headers)


async def log_in(reader: StreamOwner) -> None:
    """From here on the streams are opened by cookie."""
    login = {"name": reader.who.name, "password": PASSWORD}
    answered = await reader.api.call("POST", "/login", login)
    cookie = answered.headers["Set-Cookie"].partition(";")[0]
    reader.headers, reader.csrf = {"Cookie": cookie}, answered.body["csrf"]
    reader.api.client.cookie_jar.clear()


async def by_cookie(reader: StreamOwner, method: str, path: str, body: object = None) -> int:
    headers = {**reader.headers, "X-CSRF-Token": reader.csrf, "Origin": reader.api.origin}
    return (await reader.api.call(method, path, body, headers)).status


async def end_session(reader: StreamOwner) -> None:
    assert await by_cookie(reader, "POST", "/logout") == 204


async def revoke_token(reader: StreamOwner) -> None:
    (token,) = [
        it for it in await reader.api.rows("api_tokens") if it.principal_id == reader.who.id
    ]
    path = f"/principals/{reader.who.id}/tokens/{token.id}"
    assert (await reader.admin.call("DELETE", path)).status == 204


async def let_token_expire(reader: StreamOwner) -> None:
    async with reader.api.engine.begin() as connection:
        mine = api_tokens.c.principal_id == reader.who.id
        until = reader.api.clock() + timedelta(seconds=1)
        await connection.execute(update(api_tokens).where(mine).values(expires_at=until))
    reader.api.clock.on(seconds=2)


async def let_session_idle(reader: StreamOwner) -> None:
    """The stream knows when; a change of access makes it look at the clock of this test."""
    reader.api.clock.on(hours=3)
    await take_binding_of(reader, "nobody else")


async def take_binding_of(reader: StreamOwner, _whose: str) -> None:
    await reader.api.put(
        "bindings",
        account_id=reader.api.account,
        principal_id=reader.who.id,
        role_id=reader.api.roles[reader.api.account + "viewer"],
    )


async def take_binding(reader: StreamOwner) -> None:
    (binding,) = [
        it for it in await reader.api.rows("bindings") if it.principal_id == reader.who.id
    ]
    assert (await reader.admin.call("DELETE", f"/bindings/{binding.id}")).status == 204


async def change_role(reader: StreamOwner) -> None:
    path = f"/roles/{reader.api.roles[reader.api.account + 'reader']}"
    change = {"permissions": ["access_view"], "version": 1}
    assert (await reader.admin.call("PATCH", path, change)).status == 200


async def reset_password(reader: StreamOwner) -> None:
    change = {"password": "another horse battery", "version": 1}
    path = f"/principals/{reader.who.id}"
    assert (await reader.admin.call("PATCH", path, change)).status == 200


async def disable(reader: StreamOwner) -> None:
    change = {"disabled": True, "version": 1}
    path = f"/principals/{reader.who.id}"
    assert (await reader.admin.call("PATCH", path, change)).status == 200


async def delete_principal(reader: StreamOwner) -> None:
    assert (await reader.admin.call("DELETE", f"/principals/{reader.who.id}")).status == 204


LOGIN, ACCESS = "the login has ended", "you no longer have permission to read this"
KINDS = {
    "changes": "/events",
    "logs": "/applications/{id}/logs?pod=shop-1&follow=true",
    "events": "/applications/{id}/events/stream",
}
REASONS: dict[str, tuple[Callable[[StreamOwner], Awaitable[None]], bool, str]] = {
    "logout": (end_session, True, LOGIN),
    "idle": (let_session_idle, True, LOGIN),
    "reset of the password, by cookie": (reset_password, True, LOGIN),
    "reset of the password, by token": (reset_password, False, LOGIN),
    "token revoked": (revoke_token, False, LOGIN),
    "token expired": (let_token_expire, False, LOGIN),
    "binding taken": (take_binding, False, ACCESS),
    "role changed": (change_role, False, ACCESS),
    "principal disabled": (disable, False, LOGIN),
    "principal deleted": (delete_principal, True, f"{LOGIN} or {ACCESS}"),
}


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_stream_ends_with_what_opened_it(
    reader: StreamOwner, kind: str, reason: str
) -> None:
    end, with_cookie, words = REASONS[reason]
    if with_cookie:
        await log_in(reader)
    async with opened(reader, KINDS[kind]) as response:
        await end(reader)
        assert await end_of(response) in words.split(" or ")


async def test_a_stream_goes_on_when_somebody_else_is_concerned(reader: StreamOwner) -> None:
    other = await reader.api.person("viewer")
    async with opened(reader, KINDS["changes"]) as response:
        assert (await reader.admin.call("DELETE", f"/principals/{other.id}")).status == 204
        await revoke_token(reader)
        assert await end_of(response) == LOGIN


async def test_a_log_ends_when_its_application_leaves_the_readers_project(
    api: ApiFixture, reader: StreamOwner
) -> None:
    member = await api.person("viewer", project_id=api.project)
    reader.headers = {"Authorization": f"Bearer {member.token}"}
    async with opened(reader, KINDS["logs"]) as response:
        async with api.engine.begin() as connection:
            mine = projects.c.id == api.project
            await connection.execute(
                update(projects).where(mine).values(app_projects=["something-else"])
            )
        assert await end_of(response) == ACCESS


async def test_a_stream_renews_its_access_without_its_principals_bucket(
    reader: StreamOwner,
) -> None:
    buckets = reader.api.buckets
    async with opened(reader, "/events") as response:
        buckets.rate = 0.001
        while buckets.wait(reader.who.id) == 0:
            pass
        asked = Statements(reader.api.engine, "api_tokens")
        await take_binding_of(reader, "nobody else")
        await eventually(lambda: asked.count, within=_WITHIN)
        assert not response.content.at_eof()
        await revoke_token(reader)
        assert await end_of(response) == LOGIN
