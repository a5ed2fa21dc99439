"""Narrow access holds: of tokens over tasks, of labels over creation, of projects over names."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import insert

from service.store.tables import epochs, objects
from tests.service.api.world import Person, World

pytestmark = pytest.mark.flow


async def narrowed(world: World, who: Person, *permissions: str) -> Person:
    token = await world.token(who.id, permissions=list(permissions))
    return Person(id=who.id, name=who.name, token=token, world=world)


async def task(world: World, agent: str, who: Person, subject: str, **more: Any) -> str:
    values = {"kind": "sync", "clazz": "interactive", "actor": who.name, "project": "default"}
    return await world.put(
        "tasks",
        account_id=world.account,
        agent_id=agent,
        principal_id=who.id,
        subject=subject,
        **{**values, **more},
    )


async def seen(who: Person) -> set[str]:
    return {it["id"] for it in (await who.get("/tasks")).body["items"]}


async def test_a_narrowed_token_sees_and_ends_no_task_that_it_may_not_view(world: World) -> None:
    agent = await world.agent("prod")
    await world.application(agent, "shop")
    who = await world.person("editor", project_id=world.project)
    of_shop = await task(world, agent, who, "argocd/shop", result={"secret": "rendered"})
    of_none = await task(world, agent, who, "argocd/gone")
    narrow = await narrowed(world, who, "gitops_agent_view")
    assert await seen(narrow) == set()
    for id_ in (of_shop, of_none):
        assert (await narrow.get(f"/tasks/{id_}")).status == 404
        assert (await narrow.call("POST", f"/tasks/{id_}/cancel", {})).status == 404
    assert await seen(who) == {of_shop, of_none}
    assert (await who.call("POST", f"/tasks/{of_shop}/cancel", {})).status == 200


async def test_a_token_that_only_views_does_not_cancel_the_syncs_of_its_owner(
    world: World,
) -> None:
    agent = await world.agent("prod")
    await world.application(agent, "shop")
    who = await world.person("editor")
    of_shop = await task(world, agent, who, "argocd/shop")
    views = await narrowed(world, who, "gitops_application_view")
    assert await seen(views) == {of_shop}
    assert (await views.call("POST", f"/tasks/{of_shop}/cancel", {})).status == 403


async def test_tasks_about_connections_are_seen_with_the_permission_of_their_kind(
    world: World,
) -> None:
    agent = await world.agent("prod")
    await world.application(agent, "shop")
    who = await world.person("editor")
    put = {"kind": "put", "arguments": {"kind": "Repository"}}
    of_repository = await task(world, agent, who, "argocd/shop", **put)
    refs = await task(world, agent, who, "argocd/repo", kind="refs")
    applications = await narrowed(world, who, "gitops_application_view")
    repositories = await narrowed(world, who, "gitops_repository_view")
    assert await seen(applications) == set()
    assert await seen(repositories) == {of_repository, refs}


async def test_a_label_narrowed_member_follows_the_own_deletion_to_its_end(world: World) -> None:
    agent = await world.agent("prod")
    group = await world.put(
        "resource_groups", account_id=world.account, name="team", labels={"team": "a"}
    )
    who = await world.person("editor", resource_group_id=group)
    other = await world.person("editor", resource_group_id=group)
    deleted = await task(world, agent, who, "argocd/gone", kind="delete")
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
    world: World, scope: str, status: int
) -> None:
    agent = await world.agent("prod")
    group = await world.put(
        "resource_groups", account_id=world.account, name="team", labels={"team": "a"}
    )
    scopes = {
        "account": {},
        "organisation": {"organisation_id": world.organisation},
        "project": {"organisation_id": world.organisation, "project_id": world.project},
    }
    who = await world.person("editor", resource_group_id=group, **scopes[scope])
    given = {"agent": agent, "manifest": manifest("default", team="a")}
    assert (await who.call("POST", "/applications", given)).status == status
    given = {"agent": agent, "manifest": manifest("other", team="a")}
    assert (await who.call("POST", "/applications", given)).status == 403


async def test_a_binding_narrowed_by_labels_moves_nothing_into_another_project(
    world: World,
) -> None:
    agent = await world.agent("prod")
    group = await world.put(
        "resource_groups", account_id=world.account, name="team", labels={"team": "a"}
    )
    who = await world.person("editor", resource_group_id=group)
    app = await world.application(agent, "mine", labels={"team": "a"})
    values = {"agent_id": agent, "epoch": "e", "kind": "Application", "subject": "argocd/mine"}
    async with world.engine.begin() as connection:
        await connection.execute(insert(epochs).values(agent_id=agent, epoch="e", state="active"))
        await connection.execute(
            insert(objects).values(**values, hash="h", uid="u", as_of=world.clock())
        )
    for project, status in (("other", 403), ("default", 202)):
        given = {"manifest": manifest(project, team="a"), "version": "h"}
        answered = await who.call("PUT", f"/applications/{app}", given)
        assert answered.status == status, answered.body


async def test_names_are_seen_within_what_one_may_view(world: World) -> None:
    admin = await world.person("administrator")
    boss = await world.person("administrator", project_id=world.project)
    member = await world.person("viewer", project_id=world.project)
    stranger = await world.person("viewer", name="stranger@elsewhere.example")
    names = {it["name"] for it in (await boss.get("/principals")).body["items"]}
    assert names == {boss.name, member.name}
    assert (await boss.get(f"/principals/{stranger.id}")).status == 404
    assert (await boss.get(f"/principals/{stranger.id}/tokens")).status == 404
    assert (await boss.get(f"/principals/{member.id}")).status == 200
    everybody = {it["name"] for it in (await admin.get("/principals")).body["items"]}
    assert {boss.name, member.name, stranger.name} <= everybody


async def test_who_gives_roles_finds_a_person_by_the_exact_name(world: World) -> None:
    boss = await world.person("administrator", project_id=world.project)
    stranger = await world.person("viewer", name="tom@elsewhere.example")
    found = (await boss.get(f"/principals?name={stranger.name}")).body["items"]
    assert [it["id"] for it in found] == [stranger.id]
    assert (await boss.get("/principals?name=tom")).body["items"] == []


async def member(world: World, *permissions: str) -> Person:
    """Of the project, with a role of these permissions; the role has the member's name."""
    who = await world.person()
    role = await custom_role(world, f"role-{who.name}", *permissions)
    await bind(world, who, role, world.project)
    return who


async def custom_role(world: World, name: str, *permissions: str) -> str:
    values = {"name": name, "permissions": list(permissions)}
    return await world.put("roles", account_id=world.account, **values)


async def bind(
    world: World, who: Person, role: str, project: str, group: str | None = None
) -> None:
    scope = {"project_id": project, "resource_group_id": group}
    values = {"account_id": world.account, "principal_id": who.id, "role_id": role, **scope}
    await world.put("bindings", **values)


async def names(who: Person, path: str) -> set[str]:
    return {it["name"] for it in (await who.get(path)).body["items"]}


async def test_roles_and_groups_are_seen_within_what_one_may_view(world: World) -> None:
    place = {"account_id": world.account, "organisation_id": world.organisation}
    elsewhere = await world.put("projects", name="elsewhere", **place)
    someone, ids = await world.person(), {}
    for name, project in (("near", world.project), ("far", elsewhere)):
        labels = {"account_id": world.account, "labels": {"team": name}}
        group = await world.put("resource_groups", name=name, **labels)
        role = await custom_role(world, name, "gitops_agent_delete")
        await bind(world, someone, role, project, group)
        ids[name] = (role, group)
    await custom_role(world, "light", "gitops_application_view")
    views = await member(world, "access_view")
    gives = await member(world, "access_view", "access_edit", "gitops_application_view")
    admin = await world.person("administrator")
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
