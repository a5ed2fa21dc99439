"""Commands and changes: once per key, on the version that was seen, each in the audit."""

import asyncio

import pytest

from tests.service.api.api_fixture import ApiFixture
from tests.service.counted_statements import Statements


async def app(api: ApiFixture, **more: object) -> str:
    return await api.application(await api.agent("prod"), "shop", **more)


async def test_a_sync_is_a_task_and_a_record(api: ApiFixture) -> None:
    id_ = await app(api)
    mira = await api.person("deployer")
    ask = {"revision": "main", "prune": True, "resources": [{"kind": "Service", "name": "a"}]}
    answer = await mira.call("POST", f"/applications/{id_}/sync", ask)
    assert answer.status == 202
    task = answer.body["task"]
    assert (task["kind"], task["phase"], task["subject"]) == ("sync", "queued", "argocd/shop")
    (row,) = await api.rows("tasks")
    assert row.actor == mira.name
    assert row.arguments["revision"] == "main"
    (record,) = [it for it in await api.rows("audit") if it.action == "application.sync"]
    assert record.detail["task"] == task["id"]
    assert (await mira.get(f"/tasks/{task['id']}")).body["id"] == task["id"]


async def test_a_task_that_the_agent_cannot_do_is_refused_with_what_to_do(api: ApiFixture) -> None:
    agent = await api.agent("edge", agent_version="0.2.0", capabilities=["task.refresh"])
    id_ = await api.application(agent, "shop")
    mira = await api.person("deployer")
    refused = await mira.call("POST", f"/applications/{id_}/sync", {})
    assert (refused.status, refused.body["rule"]) == (422, "agent-unsupported")
    assert all(word in refused.body["detail"] for word in ("edge", "0.2.0", "sync"))
    assert "Upgrade the agent" in refused.body["remedy"]
    assert await api.rows("tasks") == []


async def test_equal_requests_with_one_key_are_one_task(api: ApiFixture) -> None:
    id_ = await app(api)
    mira = await api.person("deployer")
    key = {"Idempotency-Key": "k1"}
    ask = {"prune": True}
    answers = await asyncio.gather(
        *(mira.call("POST", f"/applications/{id_}/sync", ask, key) for _ in range(5))
    )
    assert {it.status for it in answers} == {202}
    assert len({it.body["task"]["id"] for it in answers}) == 1
    other = await mira.call("POST", f"/applications/{id_}/sync", {"prune": False}, key)
    assert other.status == 409
    assert other.body["field"] == "Idempotency-Key"
    tom = await api.person("deployer")
    assert (await tom.call("POST", f"/applications/{id_}/sync", {}, key)).status == 202


async def test_bulk_makes_a_task_for_each_once(api: ApiFixture) -> None:
    agent = await api.agent("prod")
    for name in ("a", "b", "c"):
        await api.application(agent, name, environment="prod" if name != "c" else "dev")
    mira = await api.person("deployer")
    ask = {"filter": {"environment": "prod"}}
    for _ in range(2):
        answer = await mira.call(
            "POST", "/applications/bulk/sync", ask, {"Idempotency-Key": "bulk"}
        )
        assert answer.status == 202
        assert {it["subject"] for it in answer.body["tasks"]} == {"argocd/a", "argocd/b"}
    assert {it.priority for it in await api.rows("tasks")} == {"bulk"}
    assert len(await api.rows("tasks")) == 2
    neither = await mira.call("POST", "/applications/bulk/sync", {})
    assert neither.status == 422


async def test_a_bulk_request_costs_the_same_statements_for_many_as_for_two(
    api: ApiFixture,
) -> None:
    """Its transaction holds the account's change feed: nobody else may wait for each of 500."""
    agent = await api.agent("prod")
    ids = [await api.application(agent, f"app-{number}") for number in range(20)]
    mira = await api.person("deployer")
    asked = Statements(api.engine)
    counts = []
    for some in (ids[:1], ids[1:3], ids[3:]):
        before = asked.count
        answer = await mira.call("POST", "/applications/bulk/refresh", {"ids": some})
        assert [it["subject"] for it in answer.body["tasks"]] == [
            f"argocd/app-{ids.index(id_)}" for id_ in some
        ]
        counts.append(asked.count - before)
    assert counts[1] == counts[2]
    records = await api.rows("audit")
    assert len([it for it in records if it.action == "application.refresh"]) == len(ids)


async def test_a_task_that_waits_can_be_cancelled(api: ApiFixture) -> None:
    id_ = await app(api)
    mira, tom = await api.person("deployer"), await api.person("viewer")
    task = (await mira.call("POST", f"/applications/{id_}/refresh", {"hard": True})).body["task"]
    assert (await tom.call("POST", f"/tasks/{task['id']}/cancel", {})).status == 403
    ended = await mira.call("POST", f"/tasks/{task['id']}/cancel", {})
    assert ended.body["phase"] == "cancelled"


async def test_a_stale_version_is_refused_with_the_current_one(api: ApiFixture) -> None:
    admin = await api.person("administrator")
    made = await admin.call("POST", "/agents", {"name": "prod"})
    path = f"/agents/{made.body['id']}"
    tag = (await admin.get(path)).headers["ETag"]
    first = await admin.call("PATCH", path, {"region": "eu"}, {"If-Match": tag})
    assert first.status == 200
    late = await admin.call("PATCH", path, {"region": "us"}, {"If-Match": tag})
    assert late.status == 412
    assert late.headers["ETag"] == first.headers["ETag"]
    assert late.body["version"] == "2"
    assert (await admin.call("PATCH", path, {"region": "us"})).status == 428
    assert (await admin.call("PATCH", path, {"region": "us", "version": 2})).status == 200


async def test_an_application_is_replaced_on_what_was_seen(api: ApiFixture) -> None:
    agent = await api.agent("prod")
    id_ = await api.application(agent, "shop")
    async with api.engine.begin() as connection:
        await connection.exec_driver_sql(
            "INSERT INTO epochs (agent_id, epoch, state) VALUES ($1, 'e', 'active')", (agent,)
        )
        await connection.exec_driver_sql(
            "INSERT INTO objects (agent_id, epoch, kind, subject, uid, hash, as_of, body) VALUES "
            "($1, 'e', 'Application', 'argocd/shop', 'u1', 'h1', now(), "
            '\'{"spec": {"project": "default"}, "status": {"history": [{"id": 1, "revision": "a",'
            '"deployedAt": "2026-01-01T00:00:00Z"}]}}\')',
            (agent,),
        )
    mira = await api.person("editor")
    seen = await mira.get(f"/applications/{id_}")
    assert seen.headers["ETag"] == '"h1"'
    manifest = {"metadata": {"name": "shop"}, "spec": {"project": "default"}}
    path, body = f"/applications/{id_}", {"manifest": manifest}
    assert (await mira.call("PUT", path, body)).status == 428
    assert (await mira.call("PUT", path, body, {"If-Match": '"h0"'})).status == 412
    assert (await mira.call("PUT", path, body, {"If-Match": '"h1"'})).status == 202
    (task,) = await api.rows("tasks")
    assert task.precondition == {"uid": "u1"}
    renamed = {"manifest": {**manifest, "metadata": {"name": "other"}}}
    assert (await mira.call("PUT", path, renamed, {"If-Match": '"h1"'})).status == 422
    history = (await mira.get(f"/applications/{id_}/history")).body["items"]
    assert [it["revision"] for it in history] == ["a"]


async def test_a_read_waits_for_the_agent(api: ApiFixture) -> None:
    id_ = await app(api)
    mira = await api.person("viewer")
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(mira.get(f"/applications/{id_}/tree"))
        await api.answer(result={"nodes": [{"kind": "Pod"}]})
    answer = reading.result()
    assert (answer.status, answer.body) == (200, {"nodes": [{"kind": "Pod"}]})


async def test_a_preview_says_what_would_happen(api: ApiFixture) -> None:
    id_ = await app(api)
    mira = await api.person("deployer")
    objects = [
        {"key": "a", "modified": True, "desired": {}, "live": None},
        {"key": "b", "modified": True, "desired": {}, "live": {}},
        {"key": "c", "modified": True, "desired": None, "live": {}},
        {"key": "d", "modified": False, "desired": {}, "live": {}},
    ]
    path = f"/applications/{id_}/sync/preview"
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(mira.call("POST", path, {"prune": True}))
        await api.answer(result={"objects": objects})
    body = reading.result().body
    assert (body["create"], body["change"], body["prune"]) == (["a"], ["b"], ["c"])


async def test_a_preview_of_a_rollback_says_what_the_agent_would_decide(api: ApiFixture) -> None:
    id_ = await app(api)
    mira = await api.person("deployer")
    intents = [
        {"key": "a", "action": "change"},
        {"key": "b", "action": "skip", "note": "ignored (no prune)"},
        {"key": "c", "action": "refuse", "note": "not permitted"},
        {"key": "d", "action": "what a newer agent says"},
    ]
    path = f"/applications/{id_}/rollback/preview"
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(mira.call("POST", path, {"historyId": 3}))
        await api.answer(result={"revision": "abc", "objects": [], "intents": intents})
    assert reading.result().body == {
        "revision": "abc",
        "create": [],
        "change": ["a"],
        "prune": [],
        "skip": [{"key": "b", "note": "ignored (no prune)"}],
        "refuse": [{"key": "c", "note": "not permitted"}],
    }
    (task,) = await api.rows("tasks")
    assert (task.kind, task.arguments["historyId"]) == ("diff", 3)


async def test_options_of_a_sync_go_to_the_agent_and_its_refusal_comes_back(
    api: ApiFixture,
) -> None:
    id_ = await app(api)
    mira = await api.person("editor")
    order = {"options": ["Force=true", "PruneLast=true"]}
    accepted = await mira.call("POST", f"/applications/{id_}/sync", order)
    await api.answer("failed", code="unsupported", message="sync option 'Force=true' ...")
    task = (await mira.get(f"/tasks/{accepted.body['task']['id']}")).body
    (row,) = await api.rows("tasks")
    assert (row.kind, row.arguments["options"]) == ("sync", order["options"])
    assert (task["phase"], task["code"]) == ("failed", "unsupported")
    assert "Force=true" in task["message"]


async def test_an_option_that_the_agent_refuses_is_named(api: ApiFixture) -> None:
    id_ = await app(api)
    mira = await api.person("deployer")
    path = f"/applications/{id_}/sync/preview"
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(mira.call("POST", path, {"options": ["Force=true"]}))
        await api.answer("failed", code="unsupported", message="sync option 'Force=true' ...")
    assert reading.result().status == 422
    assert "Force=true" in reading.result().body["detail"]
    (task,) = await api.rows("tasks")
    assert task.arguments["options"] == ["Force=true"]


@pytest.mark.parametrize(
    ("code", "status"), [("not_allowed", 403), ("not_found", 404), ("unreachable", 502)]
)
async def test_the_refusal_of_an_agent_is_answered(api: ApiFixture, code: str, status: int) -> None:
    id_ = await app(api)
    mira = await api.person("viewer")
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(mira.get(f"/applications/{id_}/diff"))
        await api.answer("failed", code=code, message="because")
    assert (reading.result().status, reading.result().body["detail"]) == (status, "because")


async def test_an_agent_that_is_away_is_not_asked(api: ApiFixture) -> None:
    id_ = await app(api)
    mira = await api.person("viewer")
    api.clock.on(minutes=5)
    answer = await mira.get(f"/applications/{id_}/tree")
    assert (answer.status, answer.body["rule"]) == (503, "agent-away")
    assert await api.rows("tasks") == []


CANARY = "x7canary-in-clear"


@pytest.mark.parametrize(
    "more",
    [
        {"password": CANARY},
        {"spec": {"password": CANARY}},
        {"spec": {"sshPrivateKey": CANARY}},
        {"spec": {"deep": [{"bearer_token": CANARY}]}},
        {"spec": {"config": {"bearerToken": CANARY}}},
        {"spec": {"kubeconfig": CANARY}},
        {"spec": {"token": CANARY}},
        {"url": f"https://me:{CANARY}@git.example/r"},
        {"spec": {"note": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{CANARY}"}},
        {"text": f"-----BEGIN PRIVATE KEY-----\n{CANARY}"},
    ],
    ids=str,
)
@pytest.mark.parametrize("noun", ["repositories", "clusters"])
async def test_a_credential_in_clear_is_refused(
    api: ApiFixture, noun: str, more: dict[str, object]
) -> None:
    admin = await api.person("administrator")
    agent = await api.agent("prod")
    answer = await admin.call("POST", f"/{noun}", {"agent": agent, "name": "r", **more})
    assert answer.status == 422
    assert answer.body["rule"] == "no-credential-in-clear"
    assert "sealed" in answer.body["remedy"]
    assert CANARY not in answer.raw.decode()
    assert CANARY not in str(await api.rows("audit")) + str(await api.rows("tasks"))


@pytest.mark.parametrize(
    "user",
    [
        "ghp_x",
        "github_pat_x",
        "glpat-x",
        "gldt-x",
        "ATBBx",
        "dckr_pat_x",
        "0123456789abcdef0123456789abcdef01234567",
        "0123456789ABCDEF0123456789ABCDEF01234567",
        "%67hp_x",
        "glpat%2Dx",
        "a" * 52,
    ],
)
async def test_a_token_as_the_user_of_an_address_is_refused(api: ApiFixture, user: str) -> None:
    admin = await api.person("administrator")
    body = {"agent": await api.agent("prod"), "url": f"https://{user}@git.example/r"}
    answer = await admin.call("POST", "/repositories", body)
    assert (answer.status, answer.body["field"]) == (422, "url")
    assert "a token as the user of a URL" in answer.body["detail"]
    assert "secretRef" in answer.body["remedy"]
    assert user not in answer.raw.decode() + str(await api.rows("audit"))


@pytest.mark.parametrize("user", ["org", "glen-org", "git", "build-agent-of-the-shop"])
async def test_a_name_as_the_user_of_an_address_is_passed_on(api: ApiFixture, user: str) -> None:
    admin = await api.person("administrator")
    url = f"https://{user}@dev.azure.com/org/shop/_git/web"
    body = {"agent": await api.agent("prod"), "url": url}
    assert (await admin.call("POST", "/repositories", body)).status == 202


@pytest.mark.parametrize("more", [{"secretRef": {"name": "repo-key"}}, {"sealed": "Zm9v"}])
async def test_a_reference_or_a_sealed_box_is_passed_on(
    api: ApiFixture, more: dict[str, object]
) -> None:
    admin = await api.person("administrator")
    agent = await api.agent("prod")
    body = {"agent": agent, "url": "https://git.example/r", **more}
    assert (await admin.call("POST", "/repositories", body)).status == 202
    (task,) = await api.rows("tasks")
    assert task.arguments == {"kind": "Repository", "url": "https://git.example/r", **more}
    assert "Zm9v" not in str(await api.rows("audit"))


async def test_a_manifest_with_a_credential_is_refused(api: ApiFixture) -> None:
    mira = await api.person("editor")
    agent = await api.agent("prod")
    source = {"repoURL": f"https://me:{CANARY}@git.example/r"}
    manifest = {"metadata": {"name": "shop"}, "spec": {"source": source}}
    answer = await mira.call("POST", "/applications", {"agent": agent, "manifest": manifest})
    assert answer.status == 422
    assert answer.body["field"] == "spec.source.repoURL"


async def test_an_agent_enrols_with_a_token_shown_once(api: ApiFixture) -> None:
    admin = await api.person("administrator")
    id_ = (await admin.call("POST", "/agents", {"name": "prod"})).body["id"]
    answer = await admin.call("POST", f"/agents/{id_}/enrolment-token")
    assert answer.status == 201
    token = answer.body["token"]
    assert token not in str(await api.rows("enrolment_tokens")) + str(await api.rows("audit"))
    assert (await admin.call("POST", f"/agents/{id_}/revoke")).body["status"] == "revoked"
    assert (await admin.call("DELETE", f"/agents/{id_}")).status == 204
    assert (await admin.get(f"/agents/{id_}")).status == 404


async def test_people_make_their_own_tokens(api: ApiFixture) -> None:
    mira, tom = await api.person("viewer"), await api.person("viewer")
    path = f"/principals/{mira.id}/tokens"
    assert (await mira.call("POST", path, {"name": "ci"})).status == 403  # with a token: no
    login = {"name": mira.name, "password": "correct horse battery"}
    csrf = (await api.call("POST", "/login", login)).body["csrf"]
    page = {"Origin": api.origin, "X-CSRF-Token": csrf}
    made = await api.call("POST", path, {"name": "ci", "days": 1}, page)
    assert made.status == 201
    bearer = {"Authorization": f"Bearer {made.body['token']}"}
    assert (await api.call("GET", "/me", headers=bearer)).status == 200
    api.clock.on(hours=25)
    assert (await api.call("GET", "/me", headers=bearer)).status == 401
    assert (await tom.get(path)).status == 404
    listed = (await mira.get(path)).body["items"]
    assert made.body["token"] not in str(listed)
    gone = await mira.call("DELETE", f"{path}/{made.body['id']}")
    assert gone.status == 204


async def test_a_person_is_made_bound_changed_and_deleted(api: ApiFixture) -> None:
    admin = await api.person("administrator")
    new = {"name": "tom@example.test", "password": "a long enough password"}
    tom = (await admin.call("POST", "/principals", new)).body
    assert (await admin.call("POST", "/principals", {**new, "password": "short"})).status == 422
    assert (await admin.call("POST", "/principals", new)).status == 409
    role = api.roles[api.account + "viewer"]
    binding = await admin.call("POST", "/bindings", {"principal": tom["id"], "role": role})
    assert binding.status == 201
    login = {"name": new["name"], "password": new["password"]}
    assert (await api.call("POST", "/login", login)).status == 200
    assert (await api.call("GET", "/me")).status == 200
    change = {"password": "another long password", "version": 1}
    assert (await admin.call("PATCH", f"/principals/{tom['id']}", change)).status == 200
    assert (await api.call("GET", "/me")).status == 401
    assert (await api.call("POST", "/login", login)).status == 401
    assert (await admin.call("DELETE", f"/bindings/{binding.body['id']}")).status == 204
    assert (await admin.call("DELETE", f"/principals/{tom['id']}")).status == 204
    book = str(await api.rows("audit"))
    assert new["password"] not in book
    assert "argon2" not in book


async def test_writers_of_one_agent_do_not_wait_for_each_other_for_ever(api: ApiFixture) -> None:
    admin = await api.person("administrator")
    agent = await api.agent("prod")
    app_ = await api.application(agent, "shop")
    calls = []
    for number in range(8):
        change = {"region": f"r{number}"}
        calls += [
            admin.call("PATCH", f"/agents/{agent}", change, {"If-Match": "*"}),
            admin.call("POST", f"/agents/{agent}/revoke", {}),
            admin.call("POST", f"/applications/{app_}/sync", {}),
        ]
    answers = await asyncio.gather(*calls)
    assert {it.status for it in answers} == {200, 202}


async def test_what_guards_less_needs_a_permission_of_its_own(api: ApiFixture) -> None:
    id_ = await app(api)
    deployer, editor = await api.person("deployer"), await api.person("editor")
    path, order = f"/applications/{id_}/sync", {"options": ["Replace=true"]}
    refused = await deployer.call("POST", path, order)
    await deployer.call("POST", path, {"revision": "main"})
    await editor.call("POST", path, order)
    rows = await api.rows("tasks")
    assert refused.status == 403
    assert [row.arguments.get("override", False) for row in rows] == [False, True]


async def test_an_override_of_a_sync_window_needs_a_permission_and_a_reason(
    api: ApiFixture,
) -> None:
    id_ = await app(api)
    deployer, editor = await api.person("deployer"), await api.person("editor")
    path, order = f"/applications/{id_}/sync", {"overrideWindow": True, "reason": "pay is down"}
    refused = await deployer.call("POST", path, order)
    unreasoned = await editor.call("POST", path, {"overrideWindow": True, "reason": " "})
    unmeant = await editor.call("POST", path, {"reason": "pay is down"})
    done = await editor.call("POST", path, order)
    assert (refused.status, unreasoned.status, unmeant.status) == (403, 422, 422)
    assert "gitops_application_override_window" in refused.body["detail"]
    assert (unreasoned.body["field"], unmeant.body["field"]) == ("reason", "overrideWindow")
    assert done.status == 202
    (record,) = [it for it in await api.rows("audit") if it.outcome == "queued"]
    assert record.detail["reason"] == "pay is down"
    assert record.detail["overrideWindow"] is True


async def test_many_applications_have_no_override(api: ApiFixture) -> None:
    id_ = await app(api)
    editor = await api.person("editor")
    order = {"ids": [id_], "overrideWindow": True, "reason": "pay is down"}
    assert (await editor.call("POST", "/applications/bulk/sync", order)).status == 422
