"""`gitops app get` and lists against a real service: what one looks for first is there."""

from __future__ import annotations

import msgspec

from tests.service.fake_agent import application
from tests.unit.cli.service_fixture import ServiceFixture, answering


async def test_one_application_is_shown_with_what_one_asks_first(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    body = application("shop", health="Degraded", sync="OutOfSync")
    policy = {"automated": {"prune": True, "selfHeal": True}}
    there = {"server": "https://kubernetes.default.svc", "namespace": "web"}
    spec = {**body.spec, "destination": there, "syncPolicy": policy}
    web = {"kind": "Deployment", "namespace": "web", "name": "site", "status": "OutOfSync"}
    hook = {"kind": "Job", "namespace": "web", "name": "migrate", "hookType": "PreSync"}
    hook |= {"hookPhase": "Failed", "message": "deadline exceeded"}
    operation = {"phase": "Failed", "message": "one hook failed"}
    operation |= {"syncResult": {"resources": [hook]}}
    status = {"resources": [web], "operationState": operation, "summary": {"images": ["web:9"]}}
    body = msgspec.structs.replace(body, spec=spec, status={**body.status, **status})
    async with answering(service.running_service, body):
        ran = await service.run("app", "get", "shop")
        (plain,) = (await service.run("app", "get", "shop", "--json")).answers
    rows = {line[:13].strip(): line[13:] for line in ran.out.splitlines() if line[13:]}
    assert ran.code == 0, ran.err
    assert rows["Project"] == "default"
    assert rows["Destination"] == "web in https://kubernetes.default.svc"
    assert rows["Auto-sync"] == "on, prune, self-heal"
    assert rows["Operation"].startswith("Failed: one hook failed")
    assert rows["Images"] == "web:9"
    assert rows["Dashboard"] == f"{service.url}/applications/{plain['id']}"
    assert "Deployment web/site  ⧉ OutOfSync" in ran.out
    (shown,) = [line for line in ran.out.splitlines() if line.startswith("PreSync")]
    assert "Job web/migrate" in shown
    assert "Failed" in shown
    assert "deadline exceeded" in shown


async def test_tasks_that_only_read_are_listed_with_all_alone(service: ServiceFixture) -> None:
    await service.log_in()
    async with answering(service.running_service, tree={"body": {"nodes": []}}):
        await service.run("app", "tree", "shop")
        ordered = await service.run("task", "list")
        everything = await service.run("task", "list", "--all", "--json")
        bogus = await service.run("task", "list", "--phase", "bogus")
    assert (ordered.code, ordered.out) == (0, "No tasks yet.\n")
    assert [it["kind"] for it in everything.answers] == ["tree"]
    assert (bogus.code, bogus.out) == (2, "")
    assert "--phase: expected one of queued" in bogus.err


async def test_projects_that_applications_name_are_told_where_none_is_reported(
    service: ServiceFixture,
) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, application("a"), application("b")):
        ran = await service.run("project", "list")
    assert ran.out == "No AppProjects yet. Applications name: default (2)\n"
