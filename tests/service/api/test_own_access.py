"""One's own password and sessions; what a new password ends; cookies over HTTPS."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from tests.service.api.api_fixture import PASSWORD, ApiAnswer, ApiFixture, ApiPerson
from tests.service.service_fixture import open_service, settings

NEW = "a quite different battery"


class BrowserLogin:
    """One login of somebody, with a cookie jar of its own."""

    def __init__(self, api: ApiFixture, who: ApiPerson) -> None:
        self.api, self.who = api, who
        self.headers: dict[str, str] = {}

    async def log_in(self, password: str = PASSWORD) -> ApiAnswer:
        body = {"name": self.who.name, "password": password}
        answered = await self.api.call("POST", "/login", body, {"User-Agent": "Test/1.0"})
        if answered.status == 200:
            self.headers = {
                "Cookie": answered.headers["Set-Cookie"].partition(";")[0],
                "X-CSRF-Token": answered.body["csrf"],
                "Origin": self.api.origin,
            }
        self.api.client.cookie_jar.clear()
        return answered

    async def call(self, method: str, path: str, body: Any = None) -> ApiAnswer:
        return await self.api.call(method, path, body, self.headers)


async def logged_in(api: ApiFixture, who: ApiPerson) -> BrowserLogin:
    browser = BrowserLogin(api, who)
    assert (await browser.log_in()).status == 200
    return browser


async def test_everybody_changes_the_own_password_and_what_the_old_one_opened_ends(
    api: ApiFixture,
) -> None:
    nobody = await api.person()
    here, elsewhere = await logged_in(api, nobody), await logged_in(api, nobody)
    body = {"password": PASSWORD, "newPassword": NEW}
    assert (await here.call("POST", "/me/password", body)).status == 204
    assert (await here.call("GET", "/me")).status == 200
    assert (await elsewhere.call("GET", "/me")).status == 401
    assert (await nobody.get("/me")).status == 401
    assert (await BrowserLogin(api, nobody).log_in()).status == 401
    assert (await BrowserLogin(api, nobody).log_in(NEW)).status == 200
    assert [it.action for it in await api.rows("audit")].count("password.changed") == 1


async def test_tokens_stay_where_that_is_asked_for(api: ApiFixture) -> None:
    robot_owner = await api.person("viewer")
    here = await logged_in(api, robot_owner)
    body = {"password": PASSWORD, "newPassword": NEW, "endTokens": False}
    assert (await here.call("POST", "/me/password", body)).status == 204
    assert (await robot_owner.get("/me")).status == 200


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"password": "guessed", "newPassword": NEW}, 403, "password"),
        ({"password": PASSWORD, "newPassword": "short"}, 422, "newPassword"),
        ({"password": PASSWORD, "newPassword": PASSWORD}, 422, "newPassword"),
        ({"newPassword": NEW}, 422, "password"),
    ],
    ids=["wrong", "short", "same", "without"],
)
async def test_a_change_that_is_refused_changes_nothing(
    api: ApiFixture, body: dict[str, str], status: int, field: str
) -> None:
    here = await logged_in(api, await api.person("viewer"))
    answered = await here.call("POST", "/me/password", body)
    assert (answered.status, field in str(answered.body)) == (status, True)
    assert (await BrowserLogin(api, here.who).log_in()).status == 200


async def test_guessing_the_present_password_is_braked_as_a_login_is(api: ApiFixture) -> None:
    here = await logged_in(api, await api.person("viewer"))
    body = {"password": "guessed", "newPassword": NEW}
    statuses = [(await here.call("POST", "/me/password", body)).status for _ in range(7)]
    assert statuses[0] == 403
    assert statuses[-1] == 429


async def test_a_token_decides_about_no_other_credentials(api: ApiFixture) -> None:
    who = await api.person("administrator")
    body = {"password": PASSWORD, "newPassword": NEW}
    assert (await who.call("POST", "/me/password", body)).status == 403
    assert (await who.call("DELETE", "/me/sessions")).status == 403


async def test_own_sessions_are_seen_and_ended(api: ApiFixture) -> None:
    mira, tom = await api.person("viewer"), await api.person("viewer")
    here, there, foreign = [await logged_in(api, it) for it in (mira, mira, tom)]
    listed = (await here.call("GET", "/me/sessions")).body["items"]
    assert sorted((it["current"], it["browser"]) for it in listed) == [
        (False, "Test/1.0"),
        (True, "Test/1.0"),
    ]
    assert "hash" not in listed[0]
    (other,) = [it["id"] for it in listed if not it["current"]]
    (strange,) = (await foreign.call("GET", "/me/sessions")).body["items"]
    assert (await here.call("DELETE", f"/me/sessions/{strange['id']}")).status == 404
    assert (await here.call("DELETE", f"/me/sessions/{other}")).status == 204
    assert (await there.call("GET", "/me")).status == 401
    assert (await here.call("GET", "/me")).status == 200
    assert (await foreign.call("GET", "/me")).status == 200


async def test_all_other_sessions_are_ended_at_once(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    browsers = [await logged_in(api, mira) for _ in range(3)]
    assert (await browsers[0].call("DELETE", "/me/sessions")).status == 204
    statuses = [(await it.call("GET", "/me")).status for it in browsers]
    assert statuses == [200, 401, 401]


async def test_a_session_that_is_not_used_ends_and_one_that_is_goes_on(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    used, idle = await logged_in(api, mira), await logged_in(api, mira)
    api.clock.on(hours=1.5)
    assert (await used.call("GET", "/me")).status == 200
    api.clock.on(hours=1)
    assert (await used.call("GET", "/me")).status == 200
    assert (await idle.call("GET", "/me")).status == 401
    api.clock.on(hours=10)
    assert (await used.call("GET", "/me")).status == 401


async def test_a_reset_by_an_administrator_ends_tokens_and_sessions(api: ApiFixture) -> None:
    admin, mira = await api.person("administrator"), await api.person("viewer")
    here = await logged_in(api, mira)
    change = {"password": NEW, "version": 1}
    assert (await admin.call("PATCH", f"/principals/{mira.id}", change)).status == 200
    assert (await mira.get("/me")).status == 401
    assert (await here.call("GET", "/me")).status == 401


@pytest.mark.parametrize("https", [True, False])
async def test_over_https_the_cookie_is_of_this_host_only_and_http_is_left(
    database_url: str, tmp_path: Any, *, https: bool
) -> None:
    file = tmp_path / "password"
    file.write_text(PASSWORD)
    body = settings(database_url, migrate=True, admin_password_file=file, secure_cookies=https)
    async with open_service(body) as service, aiohttp.ClientSession() as http:
        login = {"name": "admin", "password": PASSWORD}
        answered = await http.post(f"{service.url}/api/v1/login", json=login)
        cookie = answered.headers["Set-Cookie"]
        assert answered.status == 200
        assert cookie.startswith("__Host-gitops_session=" if https else "gitops_session=")
        assert ("Secure" in cookie) is https
        assert "Path=/" in cookie
        assert "Domain" not in cookie
        page = await http.get(f"{service.url}/")
        for it in (answered, page):
            assert ("Strict-Transport-Security" in it.headers) is https
        proof = {"Cookie": cookie.partition(";")[0]}
        assert (await http.get(f"{service.url}/api/v1/me", headers=proof)).status == 200
