"""What a caller sees: filtered in the database, by project, organisation and label."""

from tests.service.api.api_fixture import ApiFixture


async def names(api: ApiFixture, **scope: str) -> set[str]:
    viewer = await api.person("viewer", **scope)
    answer = await viewer.get("/applications")
    assert answer.body["total"] == len(answer.body["items"])
    return {it["name"] for it in answer.body["items"]}


async def furnished(api: ApiFixture) -> dict[str, str]:
    """Two organisations; an agent of the account, one of each organisation, one of a project."""
    other = await api.put("organisations", account_id=api.account, name="other")
    shop = await api.put(
        "projects",
        account_id=api.account,
        organisation_id=api.organisation,
        name="shop",
        app_projects=["shop-a", "shop-b"],
    )
    bank = await api.put("projects", account_id=api.account, organisation_id=other, name="bank")
    shared = await api.agent("shared")
    theirs = await api.agent("theirs", organisation_id=other)
    bound = await api.agent("bound", organisation_id=other, project_id=bank)
    await api.application(shared, "one", project="shop-a", labels={"team": "blue"})
    await api.application(shared, "two", project="shop-b", labels={"team": "red"})
    await api.application(shared, "three", project="bank")
    await api.application(shared, "four", project="nobodys")
    await api.application(theirs, "five", project="shop-a")
    await api.application(bound, "six", project="anything")
    return {"other": other, "shop": shop, "bank": bank, "shared": shared, "bound": bound}


async def test_a_binding_to_the_account_sees_all(api: ApiFixture) -> None:
    await furnished(api)
    assert await names(api) == {"one", "two", "three", "four", "five", "six"}


async def test_a_project_sees_the_argo_projects_it_holds(api: ApiFixture) -> None:
    made = await furnished(api)
    assert await names(api, project_id=made["shop"]) == {"one", "two"}
    assert await names(api, project_id=made["bank"]) == {"three", "six"}


async def test_an_organisation_sees_its_projects_and_its_agents(api: ApiFixture) -> None:
    made = await furnished(api)
    assert await names(api, organisation_id=made["other"]) == {"three", "five", "six"}
    assert await names(api, organisation_id=api.organisation) == {"one", "two"}


async def test_a_group_sees_its_labels_only(api: ApiFixture) -> None:
    made = await furnished(api)
    group = await api.put(
        "resource_groups", account_id=api.account, name="blue", labels={"team": "blue"}
    )
    assert await names(api, resource_group_id=group) == {"one"}
    assert await names(api, resource_group_id=group, project_id=made["bank"]) == set()


async def test_what_a_caller_may_not_see_answers_404(api: ApiFixture) -> None:
    made = await furnished(api)
    admin = await api.person("administrator")
    listed = (await admin.get("/applications?search=three")).body["items"]
    viewer = await api.person("viewer", project_id=made["shop"])
    hidden = await viewer.get(f"/applications/{listed[0]['id']}")
    missing = await viewer.get("/applications/none")
    assert hidden.status == missing.status == 404
    assert hidden.body["rule"] == missing.body["rule"]
    assert (await viewer.get(f"/agents/{made['shared']}")).status == 404
    denied = (await admin.get("/audit?decision=denied")).body["items"]
    assert listed[0]["id"] in str([it["resource"] for it in denied])


async def test_what_a_caller_may_see_but_not_do_answers_403(api: ApiFixture) -> None:
    made = await furnished(api)
    viewer = await api.person("viewer", project_id=made["shop"])
    await api.put(
        "bindings",
        account_id=api.account,
        principal_id=viewer.id,
        role_id=api.roles[api.account + "deployer"],
        project_id=made["bank"],
    )
    items = (await viewer.get("/applications?sort=name")).body["items"]
    ids = {it["name"]: it["id"] for it in items}
    assert set(ids) == {"one", "two", "three", "six"}
    assert (await viewer.call("POST", f"/applications/{ids['one']}/sync", {})).status == 403
    assert (await viewer.call("POST", f"/applications/{ids['three']}/sync", {})).status == 202
    both = {"ids": [ids["three"], ids["one"]]}
    assert (await viewer.call("POST", "/applications/bulk/sync", both)).status == 403
    assert len(await api.rows("tasks")) == 1


async def test_agents_are_seen_where_they_stand(api: ApiFixture) -> None:
    made = await furnished(api)
    viewer = await api.person("viewer", organisation_id=made["other"])
    assert {it["name"] for it in (await viewer.get("/agents")).body["items"]} == {"theirs", "bound"}
    viewer = await api.person("viewer", project_id=made["bank"])
    assert {it["name"] for it in (await viewer.get("/agents")).body["items"]} == {"bound"}


async def test_a_viewer_of_a_project_sees_only_that_project_and_its_organisation(
    api: ApiFixture,
) -> None:
    made = await furnished(api)
    viewer = await api.person("viewer", project_id=made["bank"])
    assert [it["name"] for it in (await viewer.get("/organisations")).body["items"]] == ["other"]
    assert [it["name"] for it in (await viewer.get("/projects")).body["items"]] == ["bank"]


async def test_nobody_gives_away_more_than_they_hold(api: ApiFixture) -> None:
    made = await furnished(api)
    boss = await api.person("administrator", project_id=made["bank"])
    mira = await api.person("")
    role = {name: api.roles[api.account + name] for name in ("viewer", "administrator")}
    wide = {"principal": mira.id, "role": role["viewer"]}
    here = {**wide, "project": made["bank"]}
    there = {**wide, "project": made["shop"]}
    assert (await boss.call("POST", "/bindings", wide)).status == 403
    assert (await boss.call("POST", "/bindings", there)).status == 403
    assert (await boss.call("POST", "/bindings", here)).status == 201
    new = {"organisation": made["other"], "name": "nobodys"}
    assert (await boss.call("POST", "/projects", new)).status == 403
    root = await api.person("administrator")
    taken = {"organisation": made["other"], "name": "mine", "appProjects": ["shop-a"]}
    assert (await root.call("POST", "/projects", taken)).status == 409
    assert (await root.call("POST", "/projects", new)).status == 201


async def test_an_editor_of_access_cannot_become_an_administrator(api: ApiFixture) -> None:
    role = await api.put(
        "roles",
        account_id=api.account,
        name="clerk",
        permissions=["access_view", "access_edit"],
    )
    api.roles[api.account + "clerk"] = role
    clerk, admin = await api.person("clerk"), await api.person("administrator")
    change = {"password": "a new long password", "version": 1}
    assert (await clerk.call("PATCH", f"/principals/{admin.id}", change)).status == 403
    assert (await clerk.call("DELETE", f"/principals/{admin.id}")).status == 403
    own = {"principal": clerk.id, "role": api.roles[api.account + "administrator"]}
    assert (await clerk.call("POST", "/bindings", own)).status == 403
    more = {"permissions": ["gitops_application_sync"], "version": 1}
    assert (await clerk.call("PATCH", f"/roles/{role}", more)).status == 403
