"""Argo CD's projects over HTTP: who sees them, who may write them, on what was seen."""

from typing import Any

from sqlalchemy import insert

from service.store import tables
from tests.service.api.api_fixture import ApiFixture, ApiPerson

SPEC = {"description": "the shop's", "sourceRepos": ["https://git.example/shop"]}
MANIFEST = {"metadata": {"name": "shop"}, "spec": SPEC}


async def report_app_project(
    api: ApiFixture, agent: str, name: str = "shop", epoch: str = "active"
) -> None:
    """The agent has reported an AppProject."""
    keys = {"agent_id": agent, "epoch": epoch}
    row = {
        **keys,
        "kind": "AppProject",
        "subject": f"argocd/{name}",
        "project": name,
        "uid": "u1",
        "hash": "h1",
        "as_of": api.clock(),
        "body": {
            "kind": "AppProject",
            "namespace": "argocd",
            "name": name,
            "spec": SPEC,
            "editVersion": "v1",
        },
    }
    async with api.engine.begin() as connection:
        known = tables.epochs.select().where(tables.epochs.c.agent_id == agent)
        if epoch not in {it.epoch for it in await connection.execute(known)}:
            await connection.execute(insert(tables.epochs).values(**keys, state=epoch))
        await connection.execute(insert(tables.objects).values(row))


async def only(who: ApiPerson, path: str = "/appprojects") -> dict[str, Any]:
    (found,) = (await who.get(path)).body["items"]
    return dict(found)


async def test_projects_are_listed_with_their_agents_place_and_how_many_use_them(
    api: ApiFixture,
) -> None:
    agent = await api.agent("prod", environment="production", region="eu")
    await report_app_project(api, agent)
    for name in ("a", "b"):
        await api.application(agent, name, project="shop")
    found = await only(await api.person("viewer"))
    assert (found["name"], found["namespace"], found["description"]) == (
        "shop",
        "argocd",
        "the shop's",
    )
    assert (found["agent"]["name"], found["environment"], found["region"]) == (
        "prod",
        "production",
        "eu",
    )
    assert found["applications"] == 2


async def test_lists_are_narrowed_by_agent_environment_region_and_name(api: ApiFixture) -> None:
    one = await api.agent("prod", environment="production", region="eu")
    other = await api.agent("dev", environment="development", region="us")
    await report_app_project(api, one)
    await report_app_project(api, other)
    who = await api.person("viewer")
    for query in (f"agent={one}", "environment=production,x", "region=eu"):
        assert (await only(who, f"/appprojects?{query}"))["agent"]["id"] == one, query
    assert len((await who.get("/appprojects?search=SHO")).body["items"]) == 2
    assert (await who.get("/appprojects?search=none")).body["items"] == []


async def test_what_is_not_believed_is_not_shown(api: ApiFixture) -> None:
    await report_app_project(api, await api.agent("prod"), epoch="quarantined")
    assert (await (await api.person("viewer")).get("/appprojects")).body["items"] == []


async def test_viewers_of_the_applications_of_a_project_see_its_rules_and_no_others(
    api: ApiFixture,
) -> None:
    agent = await api.agent("prod")
    await report_app_project(api, agent, "shop")
    await report_app_project(api, agent, "bank")
    mine = await api.put(
        "projects", account_id=api.account, organisation_id=api.organisation, name="shop"
    )
    narrow = await api.person("viewer", project_id=mine)
    found = await only(narrow)
    assert found["name"] == "shop"
    assert (await narrow.get(f"/appprojects/{found['id']}")).body["spec"] == SPEC
    everything = (await (await api.person("viewer")).get("/appprojects")).body["items"]
    (bank,) = (it["id"] for it in everything if it["name"] == "bank")
    assert (await narrow.get(f"/appprojects/{bank}")).status == 404
    stranger = await api.person("administrator", account=await api.make_account("other"))
    assert (await stranger.get("/appprojects")).body["items"] == []
    assert (await stranger.get(f"/appprojects/{bank}")).status == 404


async def test_an_editor_of_a_project_cannot_widen_it(api: ApiFixture) -> None:
    """On an agent that others share, writing needs the right to edit the agent."""
    agent = await api.agent("prod")
    await report_app_project(api, agent)
    mine = await api.put(
        "projects", account_id=api.account, organisation_id=api.organisation, name="shop"
    )
    editor = await api.person("editor", project_id=mine)
    path = f"/appprojects/{(await only(editor))['id']}"
    body = {"manifest": MANIFEST}
    assert (await editor.call("PUT", path, body, {"If-Match": "h1"})).status == 403
    assert (await editor.call("DELETE", path)).status == 403
    assert (await editor.call("POST", "/appprojects", {"agent": agent, **body})).status == 403
    assert await api.rows("tasks") == []


async def test_a_project_is_made_by_a_task_of_its_agent(api: ApiFixture) -> None:
    agent = await api.agent("prod")
    editor = await api.person("editor")
    made = await editor.call("POST", "/appprojects", {"agent": agent, "manifest": MANIFEST})
    assert made.status == 202
    (task,) = await api.rows("tasks")
    assert (task.kind, task.subject, task.project) == ("put", "argocd/shop", "shop")
    assert task.arguments["create"] is True
    assert task.arguments["manifest"]["kind"] == "AppProject"
    nowhere = await editor.call("POST", "/appprojects", {"agent": "x", "manifest": MANIFEST})
    assert (nowhere.status, nowhere.body["field"]) == (422, "agent")


async def test_a_project_is_replaced_and_deleted_on_what_was_seen(api: ApiFixture) -> None:
    await report_app_project(api, await api.agent("prod"))
    editor = await api.person("editor")
    path = f"/appprojects/{(await only(editor))['id']}"
    assert (await editor.get(path)).headers["ETag"] == '"v1"'
    body = {"manifest": MANIFEST}
    assert (await editor.call("PUT", path, body)).status == 428
    assert (await editor.call("PUT", path, body, {"If-Match": '"h0"'})).status == 412
    assert (await editor.call("DELETE", path, None, {"If-Match": '"h0"'})).status == 412
    other = {"manifest": {"metadata": {"name": "other"}, "spec": {}}}
    assert (await editor.call("PUT", path, other, {"If-Match": "v1"})).status == 422
    assert (await editor.call("PUT", path, body, {"If-Match": '"v1"'})).status == 202
    assert (await editor.call("DELETE", path)).status == 202
    tasks = await api.rows("tasks")
    assert [it.precondition for it in tasks] == [{"uid": "u1", "editVersion": "v1"}] * 2
    assert {it.kind for it in tasks} == {"put", "delete"}
    actions = {it.action for it in await api.rows("audit")}
    assert {"appproject.change", "appproject.delete"} <= actions


async def test_a_credential_in_a_project_is_refused(api: ApiFixture) -> None:
    agent = await api.agent("prod")
    leak = {"description": "-----BEGIN RSA PRIVATE KEY-----"}
    manifest = {"metadata": {"name": "shop"}, "spec": leak}
    editor = await api.person("editor")
    answer = await editor.call("POST", "/appprojects", {"agent": agent, "manifest": manifest})
    assert answer.status == 422
    assert await api.rows("tasks") == []
