import pytest

from tests.service.api.world import PASSWORD, Answered, World

pytestmark = pytest.mark.flow


async def log_in(world: World, name: str, password: str = PASSWORD, **headers: str) -> Answered:
    return await world.call("POST", "/login", {"name": name, "password": password}, headers)


async def browser(world: World, name: str) -> dict[str, str]:
    """Logs in; the headers a page of ours then sends."""
    answer = await log_in(world, name, Origin=world.origin)
    assert answer.status == 200, answer.body
    return {"Origin": world.origin, "X-CSRF-Token": answer.body["csrf"]}


async def test_a_login_gives_a_cookie_no_script_can_read(world: World) -> None:
    mira = await world.person("viewer")
    answer = await log_in(world, mira.name)
    assert answer.status == 200
    assert answer.body["principal"]["name"] == mira.name
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


async def test_me_says_what_one_may(world: World) -> None:
    mira = await world.person("viewer", project_id=world.project)
    answer = await mira.get("/me")
    assert answer.body["principal"]["id"] == mira.id
    assert answer.body["account"] == {"id": world.account, "name": "default"}
    held = {it["permission"]: it["scope"]["project"] for it in answer.body["permissions"]}
    assert held["gitops_application_view"] == world.project
    assert "gitops_application_sync" not in held


async def test_a_session_ends_with_logout(world: World) -> None:
    mira = await world.person("viewer")
    page = await browser(world, mira.name)
    assert (await world.call("GET", "/me")).status == 200
    kept = world.client.cookie_jar.filter_cookies(world.server.make_url("/"))["gitops_session"]
    assert (await world.call("POST", "/logout", headers=page)).status == 204
    again = {"Cookie": f"gitops_session={kept.value}"}
    assert (await world.call("GET", "/me", headers=again)).status == 401


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
async def test_a_foreign_page_changes_nothing(world: World, wrong: dict[str, str]) -> None:
    mira = await world.person("administrator")
    page = await browser(world, mira.name) | wrong
    answer = await world.call("POST", "/agents", {"name": "prod"}, page)
    assert answer.status == 403
    assert (await world.call("GET", "/agents")).body["items"] == []


async def test_who_does_not_say_which_page_it_is_changes_nothing(world: World) -> None:
    mira = await world.person("administrator")
    page = await browser(world, mira.name)
    del page["Origin"]
    assert (await world.call("POST", "/agents", {"name": "prod"}, page)).status == 403
    assert (await world.call("GET", "/agents")).body["items"] == []


async def test_our_own_page_may(world: World) -> None:
    mira = await world.person("administrator")
    page = await browser(world, mira.name)
    assert (await world.call("POST", "/agents", {"name": "prod"}, page)).status == 201


async def test_a_foreign_page_cannot_log_a_browser_in(world: World) -> None:
    mira = await world.person("viewer")
    assert (await log_in(world, mira.name, Origin="https://evil.test")).status == 403


async def test_a_wrong_name_and_a_wrong_password_answer_alike(world: World) -> None:
    mira = await world.person("viewer")
    one = await log_in(world, mira.name, "wrong")
    other = await log_in(world, "nobody-there", "wrong")
    assert one.status == other.status == 401
    assert one.raw == other.raw


async def test_guessing_is_locked_out_longer_and_longer(world: World) -> None:
    mira = await world.person("viewer")
    for _ in range(5):
        assert (await log_in(world, mira.name, "wrong")).status == 401
    locked = await log_in(world, mira.name)
    assert locked.status == 429
    assert int(locked.headers["Retry-After"]) >= 1
    world.clock.on(seconds=2)
    assert (await log_in(world, mira.name, "wrong")).status == 401
    world.clock.on(seconds=1)
    assert (await log_in(world, mira.name)).status == 429
    world.clock.on(seconds=2)
    assert (await log_in(world, mira.name)).status == 200
    assert (await log_in(world, mira.name, "wrong")).status == 401


async def test_guessing_many_names_locks_the_address(world: World) -> None:
    for number in range(20):
        assert (await log_in(world, f"name{number}", "wrong")).status == 401
    assert (await log_in(world, "another", "wrong")).status == 429


async def test_a_disabled_person_is_out_at_once(world: World) -> None:
    mira = await world.person("viewer")
    async with world.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE principals SET disabled = true")
    assert (await mira.get("/me")).status == 401
    assert (await log_in(world, mira.name)).status == 401


@pytest.mark.parametrize("header", ["Bearer gt_x", "Basic YTpi", "Bearer", "Bearer \udc80"])
async def test_an_unknown_token_opens_nothing(world: World, header: str) -> None:
    answer = await world.call(
        "GET", "/me", headers={"Authorization": header.replace("\udc80", "é")}
    )
    assert answer.status == 401
    assert answer.headers["Content-Type"].startswith("application/problem+json")


async def test_expired_and_revoked_tokens_open_nothing(world: World) -> None:
    mira = await world.person("administrator")
    expired = await world.token(mira.id, expires_at=world.clock.now)
    revoked = await world.token(mira.id, revoked_at=world.clock.now)
    for token in (expired, revoked):
        headers = {"Authorization": f"Bearer {token}"}
        assert (await world.call("GET", "/me", headers=headers)).status == 401


async def test_too_many_requests_are_told_to_wait(world: World) -> None:
    mira = await world.person("viewer")
    world.tools.buckets.rate, world.tools.buckets.burst = 0.001, 2
    answers = [await mira.get("/me") for _ in range(3)]
    assert [it.status for it in answers] == [200, 200, 429]
    assert int(answers[-1].headers["Retry-After"]) > 0
    other = await world.person("viewer")
    assert (await other.get("/me")).status == 200
