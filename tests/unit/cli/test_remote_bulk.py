"""Orders with options, for several applications at once, previews, and writing Applications."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bus.link import TaskKind, TaskPriority
from service.store import tables
from tests.service.fake_agent import application
from tests.unit.cli.service_fixture import ServiceFixture, answering

CREATED = {"key": "/ConfigMap/shop/site", "modified": True, "desired": {}, "live": None}
PRUNED = {"key": "/ConfigMap/shop/old", "modified": True, "desired": None, "live": {}}
PREVIEW = {"body": {"objects": [CREATED, PRUNED]}}


def manifest(name: str, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": "u", "resourceVersion": "7", "labels": {"team": "web"}}
    spec = {"project": "default", "source": {"repoURL": "https://git/x", "path": name}}
    kind = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
    return {**kind, "metadata": metadata, "spec": spec, "status": {"x": 1}, **more}


async def test_sync_options_and_objects_reach_the_agent(service: ServiceFixture) -> None:
    await service.log_in("deployer")
    options = ("--option", "ServerSideApply=true", "--option", "PruneLast=true")
    async with answering(service.running_service) as agent:
        ran = await service.run(
            "app", "sync", "shop", *options, "--resource", "/ConfigMap/shop/site"
        )
        wrong = await service.run("app", "sync", "shop", "--option", "PruneLast")
    assert (ran.code, wrong.code) == (0, 2), ran.err
    (offer,) = agent.offered
    assert offer.task.arguments["options"] == ["ServerSideApply=true", "PruneLast=true"]
    assert offer.task.arguments["resources"][0]["name"] == "site"
    assert "--option: expected NAME=VALUE" in wrong.err


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("apps:Deployment:web", ("apps", "Deployment", "", "web")),
        (":ConfigMap:shop/site", ("", "ConfigMap", "shop", "site")),
        ("*:*:*", ("*", "*", "", "*")),
        ("!batch:Job:*", ("batch", "!Job", "", "*")),
        ("!/Secret/shop/*", ("", "!Secret", "shop", "*")),
        ("rbac/ClusterRole//system:a:b", ("rbac", "ClusterRole", "", "system:a:b")),
        ("rbac:ClusterRole:system:a", ("rbac", "ClusterRole", "", "system:a")),
    ],
)
async def test_objects_are_chosen_in_the_form_of_argo_cd(
    service: ServiceFixture, written: str, kind: tuple[str, ...]
) -> None:
    await service.log_in("deployer")
    async with answering(service.running_service) as agent:
        ran = await service.run("app", "sync", "shop", "--resource", written)
    assert ran.code == 0, ran.err
    (offer,) = agent.offered
    (found,) = offer.task.arguments["resources"]
    parts = ("group", "kind", "namespace", "name")
    assert tuple(found.get(part, "") for part in parts) == kind


@pytest.mark.parametrize("written", ["Deployment", "apps:Deployment", "::web", "apps:Deployment:"])
async def test_a_choice_of_no_object_is_refused(service: ServiceFixture, written: str) -> None:
    await service.log_in("deployer")
    async with answering(service.running_service) as agent:
        ran = await service.run("app", "sync", "shop", "--resource", written)
    assert (ran.code, agent.offered) == (2, [])
    assert "--resource: expected GROUP:KIND:NAME" in ran.err


async def test_all_with_a_label_are_synced_and_waited_for_as_bulk(service: ServiceFixture) -> None:
    await service.log_in("deployer")
    labels = {"team": "web"}
    bodies = [application(it, labels=labels) for it in ("a", "b")]
    async with answering(service.running_service, *bodies, application("c")):
        ran = await service.run("app", "sync", "--selector", "team=web", "--wait", "--json")
        none = await service.run("app", "sync", "--selector", "team=db")
        named = await service.run("app", "refresh", "a", "c", "--hard", "--wait")
    assert (ran.code, none.code, named.code) == (0, 2, 0), ran.err + named.err
    assert {it["subject"] for it in ran.answers} == {"argocd/a", "argocd/b"}
    assert {it["phase"] for it in ran.answers} == {"succeeded"}
    assert "no application has team=db" in none.err
    results = {
        (it.kind, it.subject, it.priority)
        for it in await service.running_service.rows(tables.tasks)
    }
    assert results == {
        (TaskKind.SYNC, "argocd/a", TaskPriority.BULK),
        (TaskKind.SYNC, "argocd/b", TaskPriority.BULK),
        (TaskKind.REFRESH, "argocd/a", TaskPriority.BULK),
        (TaskKind.REFRESH, "argocd/c", TaskPriority.BULK),
    }


@pytest.mark.parametrize(
    "arguments", [(), ("a", "--selector", "team=web"), ("a", "b", "--revision", "x")], ids=str
)
async def test_what_is_unclear_is_refused_before_anything_is_ordered(
    service: ServiceFixture, arguments: tuple[str, ...]
) -> None:
    await service.log_in("deployer")
    async with answering(service.running_service, application("a"), application("b")) as agent:
        ran = await service.run("app", "sync", *arguments)
    assert (ran.code, ran.out, agent.offered) == (2, "", [])


async def test_a_preview_orders_nothing_and_is_exit_code_1_where_it_would_do_something(
    service: ServiceFixture,
) -> None:
    await service.log_in("deployer")
    async with answering(service.running_service, diff=PREVIEW) as agent:
        ran = await service.run("app", "sync", "shop", "--preview")
        with_prune = await service.run("app", "sync", "shop", "--preview", "--prune", "--json")
    assert (ran.code, with_prune.code) == (1, 1), ran.err
    assert "create  /ConfigMap/shop/site" in ran.out
    assert "skip    /ConfigMap/shop/old" in ran.out
    assert with_prune.answers[0]["prune"] == ["/ConfigMap/shop/old"]
    assert {it.task.kind for it in agent.offered} == {TaskKind.DIFF}


async def test_a_rollback_is_previewed_with_what_the_project_denies(
    service: ServiceFixture,
) -> None:
    await service.log_in("deployer")
    denied = {"action": "refuse", "key": "/Namespace//shop", "note": "the project denies it"}
    diff = {"body": {"revision": "abc", "intents": [denied]}}
    async with answering(service.running_service, diff=diff) as agent:
        ran = await service.run("app", "rollback", "shop", 3, "--preview")
    assert ran.code == 1, ran.err
    assert "refuse  /Namespace//shop  the project denies it" in ran.out
    (offer,) = agent.offered
    assert offer.task.kind is TaskKind.DIFF
    assert offer.task.arguments["historyId"] == 3


async def test_a_field_that_is_not_written_or_not_read_is_told(
    service: ServiceFixture, tmp_path: Path
) -> None:
    await service.log_in("editor")
    file = tmp_path / "app.json"
    one = manifest("new")
    file.write_text(json.dumps({**one, "operation": {"sync": {}}, "zebra": 1}))
    async with answering(service.running_service):
        ran = await service.run("app", "create", "-f", file, "--wait")
    place = f"gitops: warning: {file}, document 1: "
    assert (ran.code, ran.err.splitlines()) == (
        0,
        [
            f"{place}zebra is not known to the agent and is ignored",
            f"{place}operation is not written; to sync: gitops app sync",
        ],
    )


async def test_an_application_is_created_replaced_and_deleted(
    service: ServiceFixture, tmp_path: Path
) -> None:
    await service.log_in("editor")
    file = tmp_path / "apps.json"
    file.write_text(json.dumps(manifest("new")))
    async with answering(service.running_service) as agent:
        created = await service.run("app", "create", "-f", file, "--wait")
        file.write_text(json.dumps({"kind": "List", "items": [manifest("shop"), manifest("more")]}))
        applied = await service.run("app", "apply", "-f", file, "--agent", "prod", "--json")
        deleted = await service.run("app", "delete", "shop", "--keep-objects", "--yes", "--wait")
    assert (created.code, applied.code, deleted.code) == (0, 0, 0), created.err + deleted.err
    first, *both, last = [it.task for it in agent.offered]
    assert first.kind is TaskKind.PUT
    assert first.arguments["create"] is True
    assert first.arguments["manifest"]["metadata"].keys() <= {"name", "labels"}
    assert sorted((it.subject, "create" in it.arguments) for it in both) == [
        ("argocd/more", True),
        ("argocd/shop", False),
    ]
    assert (last.kind, last.arguments["cascade"]) == (TaskKind.DELETE, False)


@pytest.mark.parametrize(
    "content",
    ["{}", '{"apiVersion": "v1", "kind": "ConfigMap"}', json.dumps(manifest("x", spec=None))],
)
async def test_a_file_that_is_no_application_orders_nothing(
    service: ServiceFixture, tmp_path: Path, content: str
) -> None:
    await service.log_in("editor")
    file = tmp_path / "wrong.json"
    file.write_text(content)
    async with answering(service.running_service) as agent:
        ran = await service.run("app", "apply", "-f", file)
    assert (ran.code, ran.out, agent.offered) == (2, "", [])
    assert str(file) in ran.err
