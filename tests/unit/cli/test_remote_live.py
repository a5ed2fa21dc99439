"""`gitops app actions|object`: what is asked of the agent about one live object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bus.link import TaskKind
from tests.unit.cli.service_fixture import ServiceFixture, answering

WEB = ("--kind", "Deployment.apps", "--name", "web", "--namespace", "shop")
NAMED = {"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"}
LISTED = {
    "actions": [
        {"name": "resume", "params": [], "disabled": True, "why": "it is not paused", "title": ""},
        {"name": "scale", "params": ["replicas"], "disabled": False, "why": "", "title": ""},
    ],
    "problem": "discovery.lua of x: it failed",
}
PREVIEW: dict[str, Any] = {
    "changes": [{"path": "spec.replicas", "before": 1, "after": 3}],
    "creates": [{"kind": "Job", "metadata": {"name": "nightly-1"}}],
    "deletes": [],
    "drift": ["spec.replicas"],
    "notes": ["Git has spec.replicas otherwise, and self-heal sets it back."],
}


async def test_actions_are_listed_with_why_they_are_disabled(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, actions={"body": LISTED}) as agent:
        ran = await service.run("app", "actions", "list", "shop", *WEB)
    assert ran.code == 0, ran.err
    assert agent.offered[0].task.arguments == NAMED
    assert "it is not paused" in ran.out
    assert "not permitted" in ran.out, "a viewer runs none"
    assert "discovery.lua of x: it failed" in ran.err


async def test_links_of_an_application_and_of_an_object_are_listed(
    service: ServiceFixture,
) -> None:
    await service.log_in("viewer")
    link = {"title": "Logs", "url": "https://logs.example/web", "description": "", "iconClass": ""}
    body = {"items": [link], "problems": ["link 'X': if: it failed"]}
    async with answering(service.running_service, links={"body": body}) as agent:
        whole = await service.run("app", "links", "shop")
        plain = await service.run("app", "links", "shop", *WEB, "--json")
        half = await service.run("app", "links", "shop", "--kind", "Pod")
    assert (whole.code, plain.code, half.code) == (0, 0, 2), whole.err + plain.err
    assert "https://logs.example/web" in whole.out
    assert "it failed" in whole.err
    assert plain.answers == [link]
    assert [offer.task.arguments for offer in agent.offered] == [{}, NAMED]


async def test_an_action_is_previewed_and_run_with_its_parameters(service: ServiceFixture) -> None:
    await service.log_in()
    scale = ("app", "actions", "run", "shop", *WEB, "--action", "scale", "--param", "replicas=3")
    previewed = {"object-preview": {"body": PREVIEW}}
    async with answering(service.running_service, **previewed) as agent:
        shown = await service.run(*scale, "--preview")
        ran = await service.run(*scale, "--wait")
    assert (shown.code, ran.code) == (0, 0), shown.err + ran.err
    asked, done = (offer.task for offer in agent.offered)
    assert (asked.kind, done.kind) == (TaskKind.OBJECT_PREVIEW, TaskKind.RUN_ACTION)
    assert done.arguments == {**NAMED, "action": "scale", "params": {"replicas": "3"}}
    for words in ("spec.replicas", "would create Job nightly-1", "self-heal sets it back"):
        assert words in shown.out


async def test_an_edit_is_a_merge_patch_of_a_file(service: ServiceFixture, tmp_path: Path) -> None:
    await service.log_in()
    file = tmp_path / "patch.yaml"
    file.write_text("spec: {replicas: 3}\n")
    async with answering(service.running_service) as agent:
        ran = await service.run("app", "object", "edit", "shop", *WEB, "--file", file, "--wait")
        secret = ("--kind", "Secret", "--name", "login", "--file", file)
        refused = await service.run("app", "object", "edit", "shop", *secret)
    assert ran.code == 0, ran.err
    (task,) = (offer.task for offer in agent.offered)
    assert task.arguments == {**NAMED, "patch": {"spec": {"replicas": 3}}}
    assert refused.code == 2
    assert "a Secret is not edited here" in refused.err


async def test_a_deletion_is_asked_first(service: ServiceFixture) -> None:
    await service.log_in()
    delete = ("app", "object", "delete", "shop", *WEB, "--orphan")
    tree = {"body": {"nodes": [{**NAMED, "uid": "u1"}]}}
    async with answering(service.running_service, tree=tree) as agent:
        refused = await service.run(*delete)
        ran = await service.run(*delete, "--yes", "--wait")
    assert refused.code == 2
    assert ran.code == 0, ran.err
    read, done = (offer.task for offer in agent.offered)
    assert read.kind is TaskKind.TREE
    assert done.arguments == {**NAMED, "propagation": "orphan", "uid": "u1"}


async def test_what_the_tree_has_not_is_not_deleted(service: ServiceFixture) -> None:
    await service.log_in()
    async with answering(service.running_service, tree={"body": {"nodes": []}}) as agent:
        ran = await service.run("app", "object", "delete", "shop", *WEB, "--yes")
    assert ran.code == 1
    assert "gitops app tree" in ran.err
    assert [offer.task.kind for offer in agent.offered] == [TaskKind.TREE]


@pytest.mark.parametrize("written", ["replicas", "=3"])
async def test_a_parameter_has_a_name_and_a_value(service: ServiceFixture, written: str) -> None:
    await service.log_in()
    run = ("app", "actions", "run", "shop", *WEB, "--action", "scale", "--param", written)
    ran = await service.run(*run)
    assert ran.code == 2
    assert "NAME=VALUE" in ran.err
