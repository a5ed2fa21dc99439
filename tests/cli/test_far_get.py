"""`gitops app get` and lists against a real service: what one looks for first is there."""

from __future__ import annotations

import msgspec
import pytest

from tests.cli.far_world import FarWorld, answering
from tests.service.client import application

pytestmark = pytest.mark.flow


async def test_one_application_is_shown_with_what_one_asks_first(far: FarWorld) -> None:
    await far.log_in("viewer")
    body = application("shop", health="Degraded", sync="OutOfSync")
    policy = {"automated": {"prune": True, "selfHeal": True}}
    there = {"server": "https://kubernetes.default.svc", "namespace": "web"}
    spec = {**body.spec, "destination": there, "syncPolicy": policy}
    web = {"kind": "Deployment", "namespace": "web", "name": "site", "status": "OutOfSync"}
    operation = {"phase": "Failed", "message": "one hook failed"}
    status = {"resources": [web], "operationState": operation, "summary": {"images": ["web:9"]}}
    body = msgspec.structs.replace(body, spec=spec, status={**body.status, **status})
    async with answering(far.world, body):
        ran = await far.run("app", "get", "shop")
        (plain,) = (await far.run("app", "get", "shop", "--json")).answers
    rows = {line[:13].strip(): line[13:] for line in ran.out.splitlines() if line[13:]}
    assert ran.code == 0, ran.err
    assert rows["Project"] == "default"
    assert rows["Destination"] == "web in https://kubernetes.default.svc"
    assert rows["Auto-sync"] == "on, prune, self-heal"
    assert rows["Operation"].startswith("Failed: one hook failed")
    assert rows["Images"] == "web:9"
    assert rows["Dashboard"] == f"{far.url}/applications/{plain['id']}"
    assert "Deployment web/site  ⧉ OutOfSync" in ran.out


async def test_tasks_that_only_read_are_listed_with_all_alone(far: FarWorld) -> None:
    await far.log_in()
    async with answering(far.world, tree={"body": {"nodes": []}}):
        await far.run("app", "tree", "shop")
        ordered = await far.run("task", "list")
        everything = await far.run("task", "list", "--all", "--json")
        bogus = await far.run("task", "list", "--phase", "bogus")
    assert (ordered.code, ordered.out) == (0, "No tasks yet.\n")
    assert [it["kind"] for it in everything.answers] == ["tree"]
    assert (bogus.code, bogus.out) == (2, "")
    assert "--phase: expected one of queued" in bogus.err


async def test_projects_that_applications_name_are_told_where_none_is_reported(
    far: FarWorld,
) -> None:
    await far.log_in("viewer")
    async with answering(far.world, application("a"), application("b")):
        ran = await far.run("project", "list")
    assert ran.out == "No AppProjects yet. Applications name: default (2)\n"
