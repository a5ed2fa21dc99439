"""`gitops app` against a real service and an agent that answers: what is shown, and exit codes."""

from __future__ import annotations

import asyncio

import pytest

from bus.link import TaskPhase
from tests.service.fake_agent import application, deployed
from tests.unit.cli.service_fixture import ServiceFixture, answering

FAILED = {"phase": TaskPhase.FAILED, "code": "failed", "message": "one hook failed"}


async def test_the_list_shows_the_worst_first_and_says_it_in_words(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    bodies = (application("calm"), application("ill", health="Degraded", sync="OutOfSync"))
    async with answering(service.running_service, *bodies):
        ran = await service.run("app", "list")
        only = await service.run("app", "list", "--where", "health=Healthy", "--json")
    rows = ran.out.splitlines()
    assert (ran.code, len(rows)) == (0, 3), ran.err
    assert "argocd/ill" in rows[1]
    assert "◆ Degraded" in rows[1]
    assert "⧉ OutOfSync" in rows[1]
    assert [it["name"] for it in only.answers] == ["calm"]


@pytest.mark.parametrize("where", ["health=Sick", "health=healthy", "sync=synced", "sync=Missing"])
async def test_a_status_that_there_is_not_is_no_good_news(
    service: ServiceFixture, where: str
) -> None:
    await service.log_in("viewer")
    ran = await service.run("app", "list", "--where", where)
    assert (ran.code, ran.out) == (2, "")
    assert f"{where.partition('=')[0]} is one of" in ran.err


async def test_one_application_is_found_by_name_and_by_its_full_name(
    service: ServiceFixture,
) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, application("shop", health="Degraded")):
        by_name = await service.run("app", "get", "shop", "--json")
        in_full = await service.run("app", "get", "prod/argocd/shop")
        nothing = await service.run("app", "get", "shops")
    assert by_name.answers[0]["health"] == "Degraded"
    assert "prod/argocd/shop" in in_full.out
    assert (nothing.code, nothing.out) == (2, "")
    assert "there is no application shops" in nothing.err
    assert "See: gitops app list" in nothing.err


async def test_a_name_that_two_have_is_refused_with_the_ways_to_say_which(
    service: ServiceFixture,
) -> None:
    await service.log_in()
    async with answering(service.running_service), answering(service.running_service, name="test"):
        ran = await service.run("app", "sync", "shop")
    assert ran.code == 2
    assert "prod/argocd/shop, test/argocd/shop" in ran.err


async def test_a_sync_is_ordered_with_its_options_and_waited_for(service: ServiceFixture) -> None:
    await service.log_in("deployer")
    one = "apps/Deployment/shop/web"
    async with answering(service.running_service) as agent:
        options = ("--revision", "abc", "--prune", "--resource", one)
        ran = await service.run("app", "sync", "shop", *options, "--wait", "--json")
    assert (ran.code, ran.answers[0]["phase"]) == (0, "succeeded"), ran.err
    (offer,) = agent.offered
    kind = {"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"}
    assert offer.task.arguments == {"revision": "abc", "prune": True, "resources": [kind]}


async def test_a_closed_window_is_overridden_with_a_reason_only(service: ServiceFixture) -> None:
    await service.log_in("editor")
    async with answering(service.running_service) as agent:
        unreasoned = await service.run("app", "sync", "shop", "--override-window")
        options = ("--override-window", "--reason", "payments are down", "--wait")
        ran = await service.run("app", "sync", "shop", *options)
    assert (unreasoned.code, ran.code) == (2, 0), ran.err
    assert "--reason" in unreasoned.err
    (offer,) = agent.offered
    assert offer.task.arguments["overrideWindow"] is True
    assert offer.task.arguments["reason"] == "payments are down"


async def test_a_task_that_fails_is_exit_code_1_with_its_message(service: ServiceFixture) -> None:
    await service.log_in("deployer")
    async with answering(service.running_service, sync=FAILED):
        ran = await service.run("app", "sync", "shop", "--wait")
        task = (await service.run("task", "list", "--json")).answers[0]
        looked = await service.run("task", "get", task["id"])
    assert (ran.code, looked.code) == (1, 1)
    assert "◆ failed one hook failed" in ran.out


async def test_a_task_that_does_not_end_is_exit_code_5_and_can_be_cancelled(
    service: ServiceFixture,
) -> None:
    await service.log_in("deployer")
    async with answering(service.running_service) as agent:
        agent.silent = True
        ran = await service.run("app", "refresh", "shop", "--hard", "--wait", "--timeout", "1s")
    assert ran.code == 5
    id_ = ran.err.strip().rpartition(" ")[2]
    cancelled = await service.run("task", "cancel", id_, "--json")
    assert (cancelled.code, cancelled.answers[0]["id"]) == (0, id_)


async def test_without_wait_the_task_is_told_at_once(service: ServiceFixture) -> None:
    await service.log_in("deployer")
    async with answering(service.running_service, deployed(application("shop"), 3)) as agent:
        agent.silent = True
        rollback = await service.run("app", "rollback", "shop", 3, "--json")
        terminate = await service.run("app", "terminate", "shop")
    assert (rollback.code, terminate.code) == (0, 0)
    assert rollback.answers[0]["kind"] == "rollback"
    assert "terminate argocd/shop" in terminate.out
    assert "see: gitops task get " in terminate.out


async def test_a_person_who_may_delete_approves_deletions(service: ServiceFixture) -> None:
    await service.log_in("editor")
    async with answering(service.running_service) as agent:
        agent.silent = True
        unasked = await service.run("app", "confirm-deletion", "shop")
        approved = await service.run("app", "confirm-deletion", "shop", "--yes", "--json")
    assert unasked.code == 2
    assert (approved.code, approved.answers[0]["kind"]) == (0, "confirm-deletion")


async def test_a_viewer_may_not_sync(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service) as agent:
        ran = await service.run("app", "sync", "shop")
    assert (ran.code, ran.out, agent.offered) == (4, "", [])
    assert "Ask an administrator" in ran.err


async def test_a_difference_is_exit_code_1(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    change = {"path": "spec.replicas", "desired": 3, "live": 1}
    differs = {"key": "apps/Deployment/shop/web", "modified": True, "desired": {}, "live": {}}
    body = {"objects": [{**differs, "changes": [change]}]}
    async with answering(service.running_service, diff={"body": body}) as agent:
        ran = await service.run("app", "diff", "shop")
        as_json = await service.run("app", "diff", "shop", "--json")
        agent.results.clear()
        agent.results |= {"diff": {"body": {"objects": []}}}  # type: ignore[dict-item]
        same = await service.run("app", "diff", "shop")
    assert (ran.code, as_json.code, same.code) == (1, 1, 0)
    assert "spec.replicas: 1 -> 3" in ran.out
    assert as_json.answers == [body]
    assert same.out == "No differences.\n"


async def test_the_tree_shows_owners_before_what_they_own(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    pod = {"kind": "Pod", "namespace": "shop", "name": "web-1", "health": "Degraded"}
    nodes = [
        {**pod, "parents": ["apps/Deployment/shop/web"], "healthMessage": "no\x1b[31m image"},
        {"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"},
    ]
    async with answering(service.running_service, tree={"body": {"nodes": nodes}}):
        ran = await service.run("app", "tree", "shop")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[0].startswith("Deployment shop/web")
    assert ran.out.splitlines()[1].startswith("  Pod shop/web-1 ◆ Degraded")
    assert "\x1b" not in ran.out


async def test_history_names_the_ids_that_rollback_takes(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    body = application("shop")
    deployed = {"id": 7, "revision": "a" * 40, "deployedAt": "2026-11-21T10:00:00Z"}
    body.status["history"] = [deployed]
    async with answering(service.running_service, body):
        ran = await service.run("app", "history", "shop")
        as_json = await service.run("app", "history", "shop", "--json")
    assert ran.out.splitlines()[1].split()[0] == "7"
    assert "aaaaaaa\n" in ran.out
    assert as_json.answers[0]["id"] == 7


async def test_wait_ends_when_the_agent_says_so(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(
        service.running_service, application("shop", health="Progressing")
    ) as agent:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(service.run("app", "wait", "shop", "--json"))
            await agent.put(agent.outbox.state(application("shop", health="Healthy")))
        only_sync = await service.run("app", "wait", "shop", "--sync", "--timeout", "0")
    assert (waiting.result().code, only_sync.code) == (0, 0)
    assert waiting.result().answers[0]["health"] == "Healthy"


async def test_wait_says_no_at_once_or_gives_up_in_time(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service, application("shop", sync="OutOfSync")):
        asked_once = await service.run("app", "wait", "shop", "--sync", "--timeout", "0")
        gave_up = await service.run("app", "wait", "shop", "--sync", "--timeout", "1s")
        healthy = await service.run("app", "wait", "shop", "--health", "--timeout", "0")
    assert (asked_once.code, gave_up.code, healthy.code) == (1, 5, 0)
    assert "timed out" in gave_up.err


async def test_wait_says_no_when_an_operation_fails_meanwhile(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    failed = application("shop", sync="OutOfSync")
    async with answering(service.running_service, failed) as agent, asyncio.TaskGroup() as group:
        waiting = group.create_task(service.run("app", "wait", "shop", "--sync"))
        number = 0
        while not waiting.done():  # one of these comes after the first look
            number += 1
            failed.status["operationState"] = {"phase": "Failed", "finishedAt": f"{number}"}
            await agent.put(agent.outbox.state(failed))
    assert waiting.result().code == 1
    assert "ended as Failed" in waiting.result().err


async def test_an_operation_that_failed_before_is_waited_past(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    failed = application("shop", sync="OutOfSync")
    failed.status["operationState"] = {"phase": "Failed", "finishedAt": "2026-11-21T10:00:00Z"}
    async with answering(service.running_service, failed):
        ran = await service.run("app", "wait", "shop", "--sync", "--timeout", "1s")
    assert ran.code == 5
