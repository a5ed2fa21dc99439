"""What a caller sees: filtered in the database, by project, organisation and label."""

import pytest

from tests.service.api.world import World

pytestmark = pytest.mark.flow


async def names(world: World, **scope: str) -> set[str]:
    viewer = await world.person("viewer", **scope)
    answer = await viewer.get("/applications")
    assert answer.body["total"] == len(answer.body["items"])
    return {it["name"] for it in answer.body["items"]}


async def furnished(world: World) -> dict[str, str]:
    """Two organisations; an agent of the account, one of each organisation, one of a project."""
    other = await world.put("organisations", account_id=world.account, name="other")
    shop = await world.put(
        "projects",
        account_id=world.account,
        organisation_id=world.organisation,
        name="shop",
        app_projects=["shop-a", "shop-b"],
    )
    bank = await world.put("projects", account_id=world.account, organisation_id=other, name="bank")
    shared = await world.agent("shared")
    theirs = await world.agent("theirs", organisation_id=other)
    bound = await world.agent("bound", organisation_id=other, project_id=bank)
    await world.application(shared, "one", project="shop-a", labels={"team": "blue"})
    await world.application(shared, "two", project="shop-b", labels={"team": "red"})
    await world.application(shared, "three", project="bank")
    await world.application(shared, "four", project="nobodys")
    await world.application(theirs, "five", project="shop-a")
    await world.application(bound, "six", project="anything")
    return {"other": other, "shop": shop, "bank": bank, "shared": shared, "bound": bound}


async def test_a_binding_to_the_account_sees_all(world: World) -> None:
    await furnished(world)
    assert await names(world) == {"one", "two", "three", "four", "five", "six"}


async def test_a_project_sees_the_argo_projects_it_holds(world: World) -> None:
    made = await furnished(world)
    assert await names(world, project_id=made["shop"]) == {"one", "two"}
    assert await names(world, project_id=made["bank"]) == {"three", "six"}


async def test_an_organisation_sees_its_projects_and_its_agents(world: World) -> None:
    made = await furnished(world)
    assert await names(world, organisation_id=made["other"]) == {"three", "five", "six"}
    assert await names(world, organisation_id=world.organisation) == {"one", "two"}


async def test_a_group_sees_its_labels_only(world: World) -> None:
    made = await furnished(world)
    group = await world.put(
        "resource_groups", account_id=world.account, name="blue", labels={"team": "blue"}
    )
    assert await names(world, resource_group_id=group) == {"one"}
    assert await names(world, resource_group_id=group, project_id=made["bank"]) == set()


async def test_what_one_may_not_see_does_not_exist(world: World) -> None:
    made = await furnished(world)
    admin = await world.person("administrator")
    listed = (await admin.get("/applications?search=three")).body["items"]
    viewer = await world.person("viewer", project_id=made["shop"])
    hidden = await viewer.get(f"/applications/{listed[0]['id']}")
    missing = await viewer.get("/applications/none")
    assert hidden.status == missing.status == 404
    assert hidden.body["rule"] == missing.body["rule"]
    assert (await viewer.get(f"/agents/{made['shared']}")).status == 404
    denied = (await admin.get("/audit?decision=denied")).body["items"]
    assert listed[0]["id"] in str([it["resource"] for it in denied])


async def test_what_one_may_see_but_not_do_is_forbidden(world: World) -> None:
    made = await furnished(world)
    viewer = await world.person("viewer", project_id=made["shop"])
    await world.put(
        "bindings",
        account_id=world.account,
        principal_id=viewer.id,
        role_id=world.roles[world.account + "deployer"],
        project_id=made["bank"],
    )
    items = (await viewer.get("/applications?sort=name")).body["items"]
    ids = {it["name"]: it["id"] for it in items}
    assert set(ids) == {"one", "two", "three", "six"}
    assert (await viewer.call("POST", f"/applications/{ids['one']}/sync", {})).status == 403
    assert (await viewer.call("POST", f"/applications/{ids['three']}/sync", {})).status == 202
    both = {"ids": [ids["three"], ids["one"]]}
    assert (await viewer.call("POST", "/applications/bulk/sync", both)).status == 403
    assert len(await world.rows("tasks")) == 1


async def test_agents_are_seen_where_they_stand(world: World) -> None:
    made = await furnished(world)
    viewer = await world.person("viewer", organisation_id=made["other"])
    assert {it["name"] for it in (await viewer.get("/agents")).body["items"]} == {"theirs", "bound"}
    viewer = await world.person("viewer", project_id=made["bank"])
    assert {it["name"] for it in (await viewer.get("/agents")).body["items"]} == {"bound"}


async def test_an_organisation_of_mine_is_not_one_of_theirs(world: World) -> None:
    made = await furnished(world)
    viewer = await world.person("viewer", project_id=made["bank"])
    assert [it["name"] for it in (await viewer.get("/organisations")).body["items"]] == ["other"]
    assert [it["name"] for it in (await viewer.get("/projects")).body["items"]] == ["bank"]


async def test_nobody_gives_away_more_than_they_hold(world: World) -> None:
    made = await furnished(world)
    boss = await world.person("administrator", project_id=made["bank"])
    mira = await world.person("")
    role = {name: world.roles[world.account + name] for name in ("viewer", "administrator")}
    wide = {"principal": mira.id, "role": role["viewer"]}
    here = {**wide, "project": made["bank"]}
    there = {**wide, "project": made["shop"]}
    assert (await boss.call("POST", "/bindings", wide)).status == 403
    assert (await boss.call("POST", "/bindings", there)).status == 403
    assert (await boss.call("POST", "/bindings", here)).status == 201
    new = {"organisation": made["other"], "name": "nobodys"}
    assert (await boss.call("POST", "/projects", new)).status == 403
    root = await world.person("administrator")
    taken = {"organisation": made["other"], "name": "mine", "appProjects": ["shop-a"]}
    assert (await root.call("POST", "/projects", taken)).status == 409
    assert (await root.call("POST", "/projects", new)).status == 201


async def test_who_edits_access_cannot_become_an_administrator(world: World) -> None:
    role = await world.put(
        "roles",
        account_id=world.account,
        name="clerk",
        permissions=["access_view", "access_edit"],
    )
    world.roles[world.account + "clerk"] = role
    clerk, admin = await world.person("clerk"), await world.person("administrator")
    change = {"password": "a new long password", "version": 1}
    assert (await clerk.call("PATCH", f"/principals/{admin.id}", change)).status == 403
    assert (await clerk.call("DELETE", f"/principals/{admin.id}")).status == 403
    own = {"principal": clerk.id, "role": world.roles[world.account + "administrator"]}
    assert (await clerk.call("POST", "/bindings", own)).status == 403
    more = {"permissions": ["gitops_application_sync"], "version": 1}
    assert (await clerk.call("PATCH", f"/roles/{role}", more)).status == 403
