"""What is refused is logged with its route and its rule, and without what was sent."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.service.api.api_fixture import ApiAnswer, ApiFixture
from tests.service.api.test_login import log_in

CANARY = "x7canary-never-to-be-written"
JSON = {"Content-Type": "application/json"}


async def wrong_password(api: ApiFixture) -> ApiAnswer:
    return await log_in(api, (await api.person("viewer")).name, CANARY)


async def password_for_a_name(api: ApiFixture) -> ApiAnswer:
    """The second field was filled in first."""
    return await log_in(api, CANARY, "mira")


async def foreign_page(api: ApiFixture) -> ApiAnswer:
    mira = await api.person("viewer")
    return await log_in(api, mira.name, Origin=f"https://{CANARY}.test")


async def unknown_token(api: ApiFixture) -> ApiAnswer:
    return await api.call("GET", "/me", headers={"Authorization": f"Bearer gt_{CANARY}"})


async def unknown_cookie(api: ApiFixture) -> ApiAnswer:
    return await api.call("GET", "/me", headers={"Cookie": f"gitops_session={CANARY}"})


async def guessed_csrf(api: ApiFixture) -> ApiAnswer:
    mira = await api.person("administrator")
    await log_in(api, mira.name, Origin=api.origin)
    page = {"Origin": api.origin, "X-CSRF-Token": CANARY}
    return await api.call("POST", "/agents", {"name": "prod"}, page)


async def token_in_the_address(api: ApiFixture) -> ApiAnswer:
    return await api.call("GET", f"/agents?token={CANARY}")


async def broken_body(api: ApiFixture) -> ApiAnswer:
    admin = await api.person("administrator")
    broken = b'{"name": "tom", "password": "' + CANARY.encode() + b'"'
    return await admin.call("POST", "/principals", broken, JSON)


async def large_body(api: ApiFixture) -> ApiAnswer:
    admin = await api.person("administrator")
    large = BytesIO(b'{"password": "' + CANARY.encode() * 40_000 + b'"}')
    return await admin.call("POST", "/principals", large, JSON)


async def not_permitted(api: ApiFixture) -> ApiAnswer:
    viewer = await api.person("viewer")
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
    api: ApiFixture, attempt: Any, status: int, rule: str
) -> None:
    with capture_logs() as logged:
        answer = await attempt(api)
    assert (answer.status, answer.body["rule"]) == (status, rule), answer.body
    (entry,) = [one for one in logged if one["event"] == "request refused"]
    assert (entry["status"], entry["rule"], entry["address"]) == (status, rule, "127.0.0.1")
    kept = str(logged) + str(await api.rows("audit")) + str(await api.rows("login_failures"))
    assert CANARY not in kept + answer.raw.decode()


async def test_what_is_answered_is_not_logged_as_refused(api: ApiFixture) -> None:
    viewer = await api.person("viewer")
    with capture_logs() as logged:
        assert (await viewer.get("/agents/none")).status == 404
        assert (await viewer.get("/agents")).status == 200
    assert logged == []
