"""What a person decides about agents, and Argo CD's projects, against a real service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import insert, update

from bus.link import StateBody, TaskKind
from service.lifecycle import now
from service.store import tables
from tests.unit.cli.service_fixture import ServiceFixture, answering

SPEC = {"sourceRepos": ["https://git/*"], "destinations": [{"server": "*", "namespace": "shop"}]}


def project(name: str) -> StateBody:
    return StateBody(kind="AppProject", namespace="argocd", name=name, spec=SPEC)


async def quarantined(service: ServiceFixture, epoch: str) -> None:
    (agent,) = await service.running_service.rows(tables.agents)
    row = {"agent_id": agent.id, "epoch": epoch, "state": "quarantined", "reason": "nothing fits"}
    async with service.running_service.service.dependencies.engine.begin() as connection:
        await connection.execute(insert(tables.epochs).values(row))


async def states(service: ServiceFixture) -> dict[str, str]:
    return {row.epoch: row.state for row in await service.running_service.rows(tables.epochs)}


async def test_a_quarantined_epoch_is_told_and_judged(service: ServiceFixture) -> None:
    await service.log_in()
    async with answering(service.running_service) as agent:
        mine = agent.outbox.epoch
    nothing = await service.run("agent", "epochs", "accept", "prod", "--yes")
    await quarantined(service, "new")
    listed = await service.run("agent", "list")
    rejected = await service.run("agent", "epochs", "reject", "prod", "--yes", "--json")
    other = await service.run("agent", "epochs", "accept", "prod", "other", "--yes")
    assert (nothing.code, rejected.code, other.code) == (2, 0, 2), rejected.err
    assert "no epoch is quarantined" in nothing.err
    assert "quarantined: gitops agent epochs accept or reject" in listed.out
    assert rejected.answers[0]["quarantined"] is None
    assert await states(service) == {mine: "active", "new": "retired"}


async def test_an_epoch_that_is_accepted_becomes_the_view(service: ServiceFixture) -> None:
    await service.log_in()
    async with answering(service.running_service) as agent:
        mine = agent.outbox.epoch
    await quarantined(service, "new")
    ran = await service.run("agent", "epochs", "accept", "prod", "new", "--yes")
    assert ran.code == 0, ran.err
    assert await states(service) == {mine: "retired", "new": "active"}


async def test_an_agent_is_rebuilt_while_it_is_connected(service: ServiceFixture) -> None:
    await service.log_in()
    async with answering(service.running_service):
        ran = await service.run("agent", "rebuild", "prod", "--yes", "--json")
    await service.log_in("viewer")
    denied = await service.run("agent", "rebuild", "prod", "--yes")
    assert (ran.code, denied.code) == (0, 4), ran.err
    assert ran.answers[0]["rebuildingSince"]


async def test_held_deletions_are_told_and_accepted(service: ServiceFixture) -> None:
    await service.log_in()
    async with answering(service.running_service):
        nothing = await service.run("agent", "deletions", "accept", "prod", "--yes")
        doubted = {"Application": {"count": 40, "since": now().isoformat()}}
        async with service.running_service.service.dependencies.engine.begin() as connection:
            await connection.execute(update(tables.agents).values(doubted=doubted))
        listed = await service.run("agent", "list")
        accepted = await service.run("agent", "deletions", "accept", "prod", "--yes")
    assert (nothing.code, accepted.code) == (2, 0), accepted.err
    assert "deletions held (40 Application)" in listed.out


async def test_projects_are_listed_with_their_rules(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service) as agent:
        item = agent.outbox.state(project("default"))
        await agent.put(msgspec.structs.replace(item, project="default"))
        listed = await service.run("project", "list")
        one = await service.run("project", "get", "prod/argocd/default")
        as_json = await service.run("project", "get", "default", "--json")
        nothing = await service.run("project", "get", "web")
    assert listed.out.splitlines()[1].split()[:3] == ["argocd/default", "prod", "1"]
    assert "shop in *" in one.out
    assert as_json.answers[0]["spec"] == SPEC
    assert (nothing.code, "there is no appproject web" in nothing.err) == (2, True)


async def test_projects_are_written_by_who_may_edit_the_agent(
    service: ServiceFixture, tmp_path: Path
) -> None:
    await service.log_in()
    file = tmp_path / "projects.json"
    items: list[Any] = [
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "spec": SPEC, **named}
        for named in ({"metadata": {"name": "default"}}, {"metadata": {"name": "web"}})
    ]
    file.write_text(json.dumps({"kind": "List", "items": items}))
    async with answering(service.running_service, project("default")) as agent:
        applied = await service.run("project", "apply", "--file", file, "--wait")
        as_app = await service.run("app", "apply", "--file", file)
        deleted = await service.run("project", "delete", "default", "--yes", "--wait", "--json")
        await service.log_in("deployer")
        denied = await service.run("project", "create", "--file", file)
    assert (applied.code, as_app.code, deleted.code, denied.code) == (0, 2, 0, 4), applied.err
    offered = sorted((it.task.kind, it.task.subject) for it in agent.offered)
    assert offered == [
        (TaskKind.DELETE, "argocd/default"),
        (TaskKind.PUT, "argocd/default"),
        (TaskKind.PUT, "argocd/web"),
    ]
    assert "expected an Application" in as_app.err
