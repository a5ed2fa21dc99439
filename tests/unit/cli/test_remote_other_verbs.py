"""`gitops agent`, `task`, `audit` and `drift` against a real service."""

from __future__ import annotations

import stat
from datetime import timedelta
from pathlib import Path

from sqlalchemy import insert

from bus.identity import new_id
from service.audit.verification import parse, walk
from service.lifecycle import now
from service.store import tables
from tests.service.fake_agent import AgentKeyPair, enrol
from tests.unit.cli.service_fixture import ServiceFixture, answering


async def test_a_new_agent_enrols_with_the_token_that_was_shown_once(
    service: ServiceFixture,
) -> None:
    await service.log_in()
    where = ("--environment", "prod", "--region", "eu")
    made = await service.run("agent", "create", "prod", *where, "--json")
    (answer,) = made.answers
    identity = await enrol(service.url, answer["token"], AgentKeyPair())
    assert (answer["agent"]["environment"], answer["agent"]["name"]) == ("prod", identity.agent)
    again = await service.run("agent", "create", "prod")
    assert again.code == 3
    assert "already" in again.err


async def test_the_token_goes_to_a_file_that_only_its_owner_reads(
    service: ServiceFixture, tmp_path: Path
) -> None:
    await service.log_in()
    file = tmp_path / "enrolment"
    made = await service.run("agent", "create", "prod", "--token-file", file)
    taken = await service.run("agent", "create", "test", "--token-file", file)
    assert (made.code, taken.code) == (0, 2), made.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().strip() not in made.out + made.err
    await enrol(service.url, file.read_text().strip(), AgentKeyPair())


async def test_agents_that_are_away_come_first(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    await service.running_service.agent(
        "a-lost", state="enrolled", heard_at=now() - timedelta(hours=1)
    )
    async with answering(service.running_service, name="a-here"):
        ran = await service.run("agent", "list")
        as_json = await service.run("agent", "list", "--json")
    rows = ran.out.splitlines()
    assert "◆ lost" in rows[1]
    assert "● connected" in rows[2]
    assert [it["name"] for it in as_json.answers] == ["a-here", "a-lost"]


async def test_a_manifest_is_for_kubectl_and_says_what_was_chosen(service: ServiceFixture) -> None:
    await service.log_in()
    await service.running_service.agent("prod")
    chosen = ("--namespace", "gitops", "--set", "registry=registry.example.com")
    ran = await service.run("agent", "manifest", "prod", *chosen)
    bare = await service.run("agent", "manifest", "prod", "--set", "features=", "--format", "helm")
    wrong = await service.run("agent", "manifest", "prod", "--set", "colour=red")
    assert (ran.code, wrong.code) == (0, 2), ran.err
    assert "kind: Deployment" in ran.out
    assert "namespace: gitops" in ran.out
    assert "registry.example.com/" in ran.out
    assert "manage: true" not in bare.out
    assert "write: false" in bare.out
    assert "--set: expected NAME=VALUE" in wrong.err


async def test_a_revoked_agent_is_cut_and_a_viewer_may_not_do_it(service: ServiceFixture) -> None:
    await service.running_service.agent("prod")
    await service.log_in("viewer")
    denied = await service.run("agent", "revoke", "prod", "--yes")
    created = await service.run("agent", "create", "mine")
    await service.log_in()
    done = await service.run("agent", "revoke", "prod", "--yes")
    assert (denied.code, created.code, done.code) == (4, 4, 0), done.err
    assert "✗ revoked" in done.out


async def test_a_task_that_nobody_has_is_exit_code_2(service: ServiceFixture) -> None:
    await service.log_in()
    ran = await service.run("task", "get", "../agents")
    assert (ran.code, ran.out) == (2, "")
    assert "there is no task" in ran.err


async def test_the_audit_says_who_did_what_and_its_copy_can_be_verified(
    service: ServiceFixture,
) -> None:
    await service.log_in()
    await service.run("agent", "create", "prod")
    listed = await service.run("audit", "list", "--action", "agent.created", "--since", "1h")
    export = await service.run("audit", "export")
    verified = await service.run("audit", "verify")
    assert (listed.code, export.code, verified.code) == (0, 0, 0), listed.err
    assert "agent/prod" in listed.out
    assert "✓ allowed" in listed.out
    assert walk([parse(line.encode()) for line in export.out.splitlines()]).intact
    assert "none changed" in verified.out


async def test_a_broken_chain_is_exit_code_1(service: ServiceFixture) -> None:
    await service.log_in()
    await service.run("agent", "create", "prod")
    async with service.running_service.service.dependencies.engine.begin() as connection:
        await connection.exec_driver_sql("ALTER TABLE audit DISABLE TRIGGER ALL")
        await connection.exec_driver_sql("UPDATE audit SET actor = 'x' WHERE sequence = 2")
    ran = await service.run("audit", "verify")
    as_json = await service.run("audit", "verify", "--json")
    assert (ran.code, as_json.code) == (1, 1)
    assert "broken at 2" in ran.out
    assert as_json.answers[0]["brokenAt"] == 2


async def test_drifts_that_last_come_first_and_can_be_asked_for_alone(
    service: ServiceFixture,
) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service):
        (agent,) = await service.running_service.rows(tables.agents)
        for minutes, ended in ((60, ""), (30, "healed")):
            began = now() - timedelta(minutes=minutes)
            row = {
                "id": new_id(),
                "agent_id": agent.id,
                "subject": "argocd/shop",
                "project": "default",
                "object": "apps/Deployment/shop/web",
                "fields": ["spec.replicas"],
                "actor": "kubectl-edit",
                "began_at": began,
                "ended_at": began + timedelta(minutes=5) if ended else None,
                "ended_how": ended,
            }
            async with service.running_service.service.dependencies.engine.begin() as connection:
                await connection.execute(insert(tables.drifts).values(row))
        ran = await service.run("drift", "list", "--app", "shop", "--since", "24h")
        lasting = await service.run("drift", "list", "--open", "--json")
    rows = ran.out.splitlines()
    assert (ran.code, len(rows)) == (0, 3), ran.err
    assert "open" in rows[1]
    assert "healed" in rows[2]
    assert "5 min" in rows[2]
    assert "kubectl-edit" in rows[1]
    assert [it["endedAt"] for it in lasting.answers] == [None]
