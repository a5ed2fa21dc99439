"""What a person decides about agents, and Argo CD's projects, against a real service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import insert, update

from bus.link import StateBody, TaskKind
from service.app import now
from service.store import tables
from tests.cli.far_world import FarWorld, answering

pytestmark = pytest.mark.flow

SPEC = {"sourceRepos": ["https://git/*"], "destinations": [{"server": "*", "namespace": "shop"}]}


def project(name: str) -> StateBody:
    return StateBody(kind="AppProject", namespace="argocd", name=name, spec=SPEC)


async def quarantined(far: FarWorld, epoch: str) -> None:
    (agent,) = await far.world.rows(tables.agents)
    row = {"agent_id": agent.id, "epoch": epoch, "state": "quarantined", "reason": "nothing fits"}
    async with far.world.service.parts.engine.begin() as connection:
        await connection.execute(insert(tables.epochs).values(row))


async def states(far: FarWorld) -> dict[str, str]:
    return {row.epoch: row.state for row in await far.world.rows(tables.epochs)}


async def test_a_quarantined_epoch_is_told_and_judged(far: FarWorld) -> None:
    await far.log_in()
    async with answering(far.world) as agent:
        mine = agent.outbox.epoch
    nothing = await far.run("agent", "epochs", "accept", "prod", "--yes")
    await quarantined(far, "new")
    listed = await far.run("agent", "list")
    rejected = await far.run("agent", "epochs", "reject", "prod", "--yes", "--json")
    other = await far.run("agent", "epochs", "accept", "prod", "other", "--yes")
    assert (nothing.code, rejected.code, other.code) == (2, 0, 2), rejected.err
    assert "no epoch is quarantined" in nothing.err
    assert "quarantined: gitops agent epochs accept or reject" in listed.out
    assert rejected.answers[0]["quarantined"] is None
    assert await states(far) == {mine: "active", "new": "retired"}


async def test_an_epoch_that_is_accepted_becomes_the_view(far: FarWorld) -> None:
    await far.log_in()
    async with answering(far.world) as agent:
        mine = agent.outbox.epoch
    await quarantined(far, "new")
    ran = await far.run("agent", "epochs", "accept", "prod", "new", "--yes")
    assert ran.code == 0, ran.err
    assert await states(far) == {mine: "retired", "new": "active"}


async def test_an_agent_is_rebuilt_while_it_is_connected(far: FarWorld) -> None:
    await far.log_in()
    async with answering(far.world):
        ran = await far.run("agent", "rebuild", "prod", "--yes", "--json")
    await far.log_in("viewer")
    denied = await far.run("agent", "rebuild", "prod", "--yes")
    assert (ran.code, denied.code) == (0, 4), ran.err
    assert ran.answers[0]["rebuildingSince"]


async def test_held_deletions_are_told_and_accepted(far: FarWorld) -> None:
    await far.log_in()
    async with answering(far.world):
        nothing = await far.run("agent", "deletions", "accept", "prod", "--yes")
        doubted = {"Application": {"count": 40, "since": now().isoformat()}}
        async with far.world.service.parts.engine.begin() as connection:
            await connection.execute(update(tables.agents).values(doubted=doubted))
        listed = await far.run("agent", "list")
        accepted = await far.run("agent", "deletions", "accept", "prod", "--yes")
    assert (nothing.code, accepted.code) == (2, 0), accepted.err
    assert "deletions held (40 Application)" in listed.out


async def test_projects_are_listed_with_their_rules(far: FarWorld) -> None:
    await far.log_in("viewer")
    async with answering(far.world) as agent:
        item = agent.outbox.state(project("default"))
        await agent.put(msgspec.structs.replace(item, project="default"))
        listed = await far.run("project", "list")
        one = await far.run("project", "get", "prod/argocd/default")
        as_json = await far.run("project", "get", "default", "--json")
        nothing = await far.run("project", "get", "web")
    assert listed.out.splitlines()[1].split()[:3] == ["argocd/default", "prod", "1"]
    assert "shop in *" in one.out
    assert as_json.answers[0]["spec"] == SPEC
    assert (nothing.code, "there is no appproject web" in nothing.err) == (2, True)


async def test_projects_are_written_by_who_may_edit_the_agent(
    far: FarWorld, tmp_path: Path
) -> None:
    await far.log_in()
    file = tmp_path / "projects.json"
    items: list[Any] = [
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "spec": SPEC, **named}
        for named in ({"metadata": {"name": "default"}}, {"metadata": {"name": "web"}})
    ]
    file.write_text(json.dumps({"kind": "List", "items": items}))
    async with answering(far.world, project("default")) as agent:
        applied = await far.run("project", "apply", "--file", file, "--wait")
        as_app = await far.run("app", "apply", "--file", file)
        deleted = await far.run("project", "delete", "default", "--yes", "--wait", "--json")
        await far.log_in("deployer")
        denied = await far.run("project", "create", "--file", file)
    assert (applied.code, as_app.code, deleted.code, denied.code) == (0, 2, 0, 4), applied.err
    told = sorted((it.task.kind, it.task.subject) for it in agent.offered)
    assert told == [
        (TaskKind.DELETE, "argocd/default"),
        (TaskKind.PUT, "argocd/default"),
        (TaskKind.PUT, "argocd/web"),
    ]
    assert "expected an Application" in as_app.err
