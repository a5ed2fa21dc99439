"""Narrow access holds: of tokens over tasks, of labels over creation, of projects over names."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import insert

from service.store.tables import epochs, objects
from tests.service.api.api_fixture import ApiFixture, ApiPerson


async def narrowed(api: ApiFixture, who: ApiPerson, *permissions: str) -> ApiPerson:
    token = await api.token(who.id, permissions=list(permissions))
    return ApiPerson(id=who.id, name=who.name, token=token, api=api)


async def task(api: ApiFixture, agent: str, who: ApiPerson, subject: str, **more: Any) -> str:
    values = {"kind": "sync", "priority": "interactive", "actor": who.name, "project": "default"}
    return await api.put(
        "tasks",
        account_id=api.account,
        agent_id=agent,
        principal_id=who.id,
        subject=subject,
        **{**values, **more},
    )


async def seen(who: ApiPerson) -> set[str]:
    return {it["id"] for it in (await who.get("/tasks")).body["items"]}


async def test_a_narrowed_token_sees_and_ends_no_task_that_it_may_not_view(
    api: ApiFixture,
) -> None:
    agent = await api.agent("prod")
    await api.application(agent, "shop")
    who = await api.person("editor", project_id=api.project)
    of_shop = await task(api, agent, who, "argocd/shop", result={"secret": "rendered"})
    of_none = await task(api, agent, who, "argocd/gone")
    narrow = await narrowed(api, who, "gitops_agent_view")
    assert await seen(narrow) == set()
    for id_ in (of_shop, of_none):
        assert (await narrow.get(f"/tasks/{id_}")).status == 404
        assert (await narrow.call("POST", f"/tasks/{id_}/cancel", {})).status == 404
    assert await seen(who) == {of_shop, of_none}
    assert (await who.call("POST", f"/tasks/{of_shop}/cancel", {})).status == 200


async def test_a_token_that_only_views_does_not_cancel_the_syncs_of_its_owner(
    api: ApiFixture,
) -> None:
    agent = await api.agent("prod")
    await api.application(agent, "shop")
    who = await api.person("editor")
    of_shop = await task(api, agent, who, "argocd/shop")
    views = await narrowed(api, who, "gitops_application_view")
    assert await seen(views) == {of_shop}
    assert (await views.call("POST", f"/tasks/{of_shop}/cancel", {})).status == 403


async def test_tasks_about_connections_are_seen_with_the_permission_of_their_kind(
    api: ApiFixture,
) -> None:
    agent = await api.agent("prod")
    await api.application(agent, "shop")
    who = await api.person("editor")
    put = {"kind": "put", "arguments": {"kind": "Repository"}}
    of_repository = await task(api, agent, who, "argocd/shop", **put)
    refs = await task(api, agent, who, "argocd/repo", kind="refs")
    applications = await narrowed(api, who, "gitops_application_view")
    repositories = await narrowed(api, who, "gitops_repository_view")
    assert await seen(applications) == set()
    assert await seen(repositories) == {of_repository, refs}


async def test_a_member_narrowed_by_labels_follows_a_deletion_of_its_own_to_the_end(
    api: ApiFixture,
) -> None:
    agent = await api.agent("prod")
    group = await api.put(
        "resource_groups", account_id=api.account, name="team", labels={"team": "a"}
    )
    who = await api.person("editor", resource_group_id=group)
    other = await api.person("editor", resource_group_id=group)
    deleted = await task(api, agent, who, "argocd/gone", kind="delete")
    assert await seen(who) == {deleted}
    assert await seen(other) == set()


def manifest(project: str, **labels: str) -> dict[str, Any]:
    source = {"repoURL": "https://git/x", "path": "."}
    return {
        "metadata": {"name": "mine", "labels": labels},
        "spec": {"project": project, "source": source, "destination": {"namespace": "x"}},
    }


@pytest.mark.parametrize(
    ("scope", "status"),
    [("account", 403), ("organisation", 403), ("project", 202)],
)
async def test_a_binding_narrowed_by_labels_creates_in_its_project_only(
    api: ApiFixture, scope: str, status: int
) -> None:
    agent = await api.agent("prod")
    group = await api.put(
        "resource_groups", account_id=api.account, name="team", labels={"team": "a"}
    )
    scopes = {
        "account": {},
        "organisation": {"organisation_id": api.organisation},
        "project": {"organisation_id": api.organisation, "project_id": api.project},
    }
    who = await api.person("editor", resource_group_id=group, **scopes[scope])
    body = {"agent": agent, "manifest": manifest("default", team="a")}
    assert (await who.call("POST", "/applications", body)).status == status
    body = {"agent": agent, "manifest": manifest("other", team="a")}
    assert (await who.call("POST", "/applications", body)).status == 403


async def test_a_binding_narrowed_by_labels_moves_nothing_into_another_project(
    api: ApiFixture,
) -> None:
    agent = await api.agent("prod")
    group = await api.put(
        "resource_groups", account_id=api.account, name="team", labels={"team": "a"}
    )
    who = await api.person("editor", resource_group_id=group)
    app = await api.application(agent, "mine", labels={"team": "a"})
    values = {"agent_id": agent, "epoch": "e", "kind": "Application", "subject": "argocd/mine"}
    async with api.engine.begin() as connection:
        await connection.execute(insert(epochs).values(agent_id=agent, epoch="e", state="active"))
        await connection.execute(
            insert(objects).values(**values, hash="h", uid="u", as_of=api.clock())
        )
    for project, status in (("other", 403), ("default", 202)):
        body = {"manifest": manifest(project, team="a"), "version": "h"}
        answered = await who.call("PUT", f"/applications/{app}", body)
        assert answered.status == status, answered.body


async def test_names_of_principals_are_visible_where_access_may_be_viewed(api: ApiFixture) -> None:
    admin = await api.person("administrator")
    boss = await api.person("administrator", project_id=api.project)
    member = await api.person("viewer", project_id=api.project)
    stranger = await api.person("viewer", name="stranger@elsewhere.example")
    names = {it["name"] for it in (await boss.get("/principals")).body["items"]}
    assert names == {boss.name, member.name}
    assert (await boss.get(f"/principals/{stranger.id}")).status == 404
    assert (await boss.get(f"/principals/{stranger.id}/tokens")).status == 404
    assert (await boss.get(f"/principals/{member.id}")).status == 200
    everybody = {it["name"] for it in (await admin.get("/principals")).body["items"]}
    assert {boss.name, member.name, stranger.name} <= everybody


async def test_callers_who_may_bind_roles_find_a_principal_by_its_exact_name(
    api: ApiFixture,
) -> None:
    boss = await api.person("administrator", project_id=api.project)
    stranger = await api.person("viewer", name="tom@elsewhere.example")
    found = (await boss.get(f"/principals?name={stranger.name}")).body["items"]
    assert [it["id"] for it in found] == [stranger.id]
    assert (await boss.get("/principals?name=tom")).body["items"] == []


async def member(api: ApiFixture, *permissions: str) -> ApiPerson:
    """Of the project, with a role of these permissions; the role has the member's name."""
    who = await api.person()
    role = await custom_role(api, f"role-{who.name}", *permissions)
    await bind(api, who, role, api.project)
    return who


async def custom_role(api: ApiFixture, name: str, *permissions: str) -> str:
    values = {"name": name, "permissions": list(permissions)}
    return await api.put("roles", account_id=api.account, **values)


async def bind(
    api: ApiFixture, who: ApiPerson, role: str, project: str, group: str | None = None
) -> None:
    scope = {"project_id": project, "resource_group_id": group}
    values = {"account_id": api.account, "principal_id": who.id, "role_id": role, **scope}
    await api.put("bindings", **values)


async def names(who: ApiPerson, path: str) -> set[str]:
    return {it["name"] for it in (await who.get(path)).body["items"]}


async def test_roles_and_groups_are_seen_within_what_one_may_view(api: ApiFixture) -> None:
    place = {"account_id": api.account, "organisation_id": api.organisation}
    elsewhere = await api.put("projects", name="elsewhere", **place)
    someone, ids = await api.person(), {}
    for name, project in (("near", api.project), ("far", elsewhere)):
        labels = {"account_id": api.account, "labels": {"team": name}}
        group = await api.put("resource_groups", name=name, **labels)
        role = await custom_role(api, name, "gitops_agent_delete")
        await bind(api, someone, role, project, group)
        ids[name] = (role, group)
    await custom_role(api, "light", "gitops_application_view")
    views = await member(api, "access_view")
    gives = await member(api, "access_view", "access_edit", "gitops_application_view")
    admin = await api.person("administrator")
    built_in = {"viewer", "deployer", "editor", "administrator"}
    here = built_in | {"near", f"role-{views.name}", f"role-{gives.name}"}

    assert await names(views, "/roles?limit=50") == here
    assert await names(gives, "/roles?limit=50") == here | {"light"}
    assert await names(admin, "/roles?limit=50") == here | {"light", "far"}
    assert await names(views, "/resource-groups") == {"near"}
    assert await names(gives, "/resource-groups") == {"near", "far"}
    assert await names(admin, "/resource-groups") == {"near", "far"}
    for name, status in (("near", 200), ("far", 404)):
        role, group = ids[name]
        assert (await views.get(f"/roles/{role}")).status == status
        assert (await views.get(f"/resource-groups/{group}")).status == status
