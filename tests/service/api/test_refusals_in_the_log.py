"""What is refused is logged with its route and its rule, and without what was sent."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.service.api.test_login import log_in
from tests.service.api.world import Answered, World

pytestmark = pytest.mark.flow

CANARY = "x7canary-never-to-be-written"
JSON = {"Content-Type": "application/json"}


async def wrong_password(world: World) -> Answered:
    return await log_in(world, (await world.person("viewer")).name, CANARY)


async def password_for_a_name(world: World) -> Answered:
    """The second field was filled in first."""
    return await log_in(world, CANARY, "mira")


async def foreign_page(world: World) -> Answered:
    mira = await world.person("viewer")
    return await log_in(world, mira.name, Origin=f"https://{CANARY}.test")


async def unknown_token(world: World) -> Answered:
    return await world.call("GET", "/me", headers={"Authorization": f"Bearer gt_{CANARY}"})


async def unknown_cookie(world: World) -> Answered:
    return await world.call("GET", "/me", headers={"Cookie": f"gitops_session={CANARY}"})


async def guessed_csrf(world: World) -> Answered:
    mira = await world.person("administrator")
    await log_in(world, mira.name, Origin=world.origin)
    page = {"Origin": world.origin, "X-CSRF-Token": CANARY}
    return await world.call("POST", "/agents", {"name": "prod"}, page)


async def token_in_the_address(world: World) -> Answered:
    return await world.call("GET", f"/agents?token={CANARY}")


async def broken_body(world: World) -> Answered:
    admin = await world.person("administrator")
    broken = b'{"name": "tom", "password": "' + CANARY.encode() + b'"'
    return await admin.call("POST", "/principals", broken, JSON)


async def large_body(world: World) -> Answered:
    admin = await world.person("administrator")
    large = BytesIO(b'{"password": "' + CANARY.encode() * 40_000 + b'"}')
    return await admin.call("POST", "/principals", large, JSON)


async def not_permitted(world: World) -> Answered:
    viewer = await world.person("viewer")
    return await viewer.call("POST", "/principals", {"name": "tom", "password": CANARY})


REFUSED = (
    (wrong_password, 401, "login"),
    (password_for_a_name, 401, "login"),
    (foreign_page, 403, "origin"),
    (unknown_token, 401, "login"),
    (unknown_cookie, 401, "login"),
    (guessed_csrf, 403, "access"),
    (token_in_the_address, 401, "login"),
    (broken_body, 400, "json"),
    (large_body, 413, "size"),
    (not_permitted, 403, "access"),
)


@pytest.mark.parametrize(
    ("attempt", "status", "rule"), REFUSED, ids=[one[0].__name__ for one in REFUSED]
)
async def test_a_refusal_is_logged_without_its_secret(
    world: World, attempt: Any, status: int, rule: str
) -> None:
    with capture_logs() as logged:
        answer = await attempt(world)
    assert (answer.status, answer.body["rule"]) == (status, rule), answer.body
    (said,) = [one for one in logged if one["event"] == "request refused"]
    assert (said["status"], said["rule"], said["address"]) == (status, rule, "127.0.0.1")
    kept = str(logged) + str(await world.rows("audit")) + str(await world.rows("login_failures"))
    assert CANARY not in kept + answer.raw.decode()


async def test_what_is_answered_is_not_logged_as_refused(world: World) -> None:
    viewer = await world.person("viewer")
    with capture_logs() as logged:
        assert (await viewer.get("/agents/none")).status == 404
        assert (await viewer.get("/agents")).status == 200
    assert logged == []
