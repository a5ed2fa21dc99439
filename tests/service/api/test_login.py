import pytest

from tests.service.api.api_fixture import PASSWORD, ApiAnswer, ApiFixture


async def log_in(api: ApiFixture, name: str, password: str = PASSWORD, **headers: str) -> ApiAnswer:
    return await api.call("POST", "/login", {"name": name, "password": password}, headers)


async def browser(api: ApiFixture, name: str) -> dict[str, str]:
    """Logs in; the headers a page of ours then sends."""
    answer = await log_in(api, name, Origin=api.origin)
    assert answer.status == 200, answer.body
    return {"Origin": api.origin, "X-CSRF-Token": answer.body["csrf"]}


async def test_a_login_gives_a_cookie_no_script_can_read(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    answer = await log_in(api, mira.name)
    assert answer.status == 200
    assert answer.body["principal"]["name"] == mira.name
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


async def test_me_lists_the_permissions_of_the_caller(api: ApiFixture) -> None:
    mira = await api.person("viewer", project_id=api.project)
    answer = await mira.get("/me")
    assert answer.body["principal"]["id"] == mira.id
    assert answer.body["account"] == {"id": api.account, "name": "default"}
    held = {it["permission"]: it["scope"]["project"] for it in answer.body["permissions"]}
    assert held["gitops_application_view"] == api.project
    assert "gitops_application_sync" not in held


async def test_a_session_ends_with_logout(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    page = await browser(api, mira.name)
    assert (await api.call("GET", "/me")).status == 200
    kept = api.client.cookie_jar.filter_cookies(api.server.make_url("/"))["gitops_session"]
    assert (await api.call("POST", "/logout", headers=page)).status == 204
    again = {"Cookie": f"gitops_session={kept.value}"}
    assert (await api.call("GET", "/me", headers=again)).status == 401


@pytest.mark.parametrize(
    "wrong",
    [
        {"X-CSRF-Token": ""},
        {"X-CSRF-Token": "guessed"},
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
        {"Origin": ""},
    ],
    ids=str,
)
async def test_a_foreign_page_changes_nothing(api: ApiFixture, wrong: dict[str, str]) -> None:
    mira = await api.person("administrator")
    page = await browser(api, mira.name) | wrong
    answer = await api.call("POST", "/agents", {"name": "prod"}, page)
    assert answer.status == 403
    assert (await api.call("GET", "/agents")).body["items"] == []


async def test_a_change_by_cookie_without_origin_is_refused(api: ApiFixture) -> None:
    mira = await api.person("administrator")
    page = await browser(api, mira.name)
    del page["Origin"]
    assert (await api.call("POST", "/agents", {"name": "prod"}, page)).status == 403
    assert (await api.call("GET", "/agents")).body["items"] == []


async def test_the_services_own_page_may_change_things(api: ApiFixture) -> None:
    mira = await api.person("administrator")
    page = await browser(api, mira.name)
    assert (await api.call("POST", "/agents", {"name": "prod"}, page)).status == 201


async def test_a_foreign_page_cannot_log_a_browser_in(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    assert (await log_in(api, mira.name, Origin="https://evil.test")).status == 403


async def test_a_wrong_name_and_a_wrong_password_answer_alike(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    one = await log_in(api, mira.name, "wrong")
    other = await log_in(api, "nobody-there", "wrong")
    assert one.status == other.status == 401
    assert one.raw == other.raw


async def test_guessing_is_locked_out_longer_and_longer(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    for _ in range(5):
        assert (await log_in(api, mira.name, "wrong")).status == 401
    locked = await log_in(api, mira.name)
    assert locked.status == 429
    assert int(locked.headers["Retry-After"]) >= 1
    api.clock.on(seconds=2)
    assert (await log_in(api, mira.name, "wrong")).status == 401
    api.clock.on(seconds=1)
    assert (await log_in(api, mira.name)).status == 429
    api.clock.on(seconds=2)
    assert (await log_in(api, mira.name)).status == 200
    assert (await log_in(api, mira.name, "wrong")).status == 401


async def test_guessing_many_names_locks_the_address(api: ApiFixture) -> None:
    for number in range(20):
        assert (await log_in(api, f"name{number}", "wrong")).status == 401
    assert (await log_in(api, "another", "wrong")).status == 429


async def test_a_disabled_person_is_out_at_once(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    async with api.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE principals SET disabled = true")
    assert (await mira.get("/me")).status == 401
    assert (await log_in(api, mira.name)).status == 401


@pytest.mark.parametrize("header", ["Bearer gt_x", "Basic YTpi", "Bearer", "Bearer \udc80"])
async def test_an_unknown_token_opens_nothing(api: ApiFixture, header: str) -> None:
    answer = await api.call("GET", "/me", headers={"Authorization": header.replace("\udc80", "é")})
    assert answer.status == 401
    assert answer.headers["Content-Type"].startswith("application/problem+json")


async def test_expired_and_revoked_tokens_open_nothing(api: ApiFixture) -> None:
    mira = await api.person("administrator")
    expired = await api.token(mira.id, expires_at=api.clock.now)
    revoked = await api.token(mira.id, revoked_at=api.clock.now)
    for token in (expired, revoked):
        headers = {"Authorization": f"Bearer {token}"}
        assert (await api.call("GET", "/me", headers=headers)).status == 401


async def test_too_many_requests_are_told_to_wait(api: ApiFixture) -> None:
    mira = await api.person("viewer")
    api.buckets.rate, api.buckets.burst = 0.001, 2
    answers = [await mira.get("/me") for _ in range(3)]
    assert [it.status for it in answers] == [200, 200, 429]
    assert int(answers[-1].headers["Retry-After"]) > 0
    other = await api.person("viewer")
    assert (await other.get("/me")).status == 200
