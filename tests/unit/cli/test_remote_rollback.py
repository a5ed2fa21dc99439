"""`gitops app rollback` of an application that syncs by itself, which would undo it."""

from __future__ import annotations

import msgspec

from bus.link import StateBody, TaskKind, TaskPhase
from tests.service.fake_agent import application, deployed
from tests.unit.cli.service_fixture import ServiceFixture, answering

POLICY = {"automated": {"prune": True}, "syncOptions": ["PruneLast=true"]}


def automated() -> StateBody:
    """An application with labels, that syncs by itself."""
    body = application("shop", labels={"team": "a"})
    body = msgspec.structs.replace(body, spec={**body.spec, "syncPolicy": POLICY})
    return deployed(body, 3)


async def test_automated_sync_is_switched_off_first_and_the_rest_stays(
    service: ServiceFixture,
) -> None:
    await service.log_in()
    async with answering(service.running_service, automated()) as agent:
        ran = await service.run("app", "rollback", "shop", 3, "--auto-sync-off", "--yes", "--wait")
    assert ran.code == 0, ran.err
    put, back = (offer.task for offer in agent.offered)
    assert (put.kind, back.kind) == (TaskKind.PUT, TaskKind.ROLLBACK)
    written = put.arguments["manifest"]
    assert written["spec"] == {
        **application("shop").spec,
        "syncPolicy": {**POLICY, "automated": {"prune": True, "enabled": False}},
    }
    assert written["metadata"]["labels"] == {"team": "a"}
    assert back.arguments["historyId"] == 3


async def test_where_it_cannot_be_switched_off_nothing_is_rolled_back(
    service: ServiceFixture,
) -> None:
    await service.log_in()
    refused = {"phase": TaskPhase.FAILED, "code": "not_allowed", "message": "read-only here"}
    async with answering(service.running_service, automated(), put=refused) as agent:
        ran = await service.run("app", "rollback", "shop", 3, "--auto-sync-off", "--yes")
    assert ran.code == 1
    assert "still on, nothing was rolled back: read-only here" in ran.err
    assert [offer.task.kind for offer in agent.offered] == [TaskKind.PUT]


async def test_what_is_synced_by_hand_is_rolled_back_as_it_is(service: ServiceFixture) -> None:
    await service.log_in()
    async with answering(service.running_service, deployed(application("shop"), 3)) as agent:
        ran = await service.run("app", "rollback", "shop", 3, "--auto-sync-off", "--yes", "--wait")
    assert ran.code == 0, ran.err
    assert [offer.task.kind for offer in agent.offered] == [TaskKind.ROLLBACK]


async def test_an_entry_that_is_not_in_the_history_is_refused_at_once(
    service: ServiceFixture,
) -> None:
    await service.log_in()
    async with answering(service.running_service, deployed(application("shop"), 2, 3)) as agent:
        ran = await service.run("app", "rollback", "shop", 99)
    assert ran.code != 0
    assert "has no history entry 99; there are 2, 3" in ran.err
    assert agent.offered == []


async def test_automated_sync_stays_on_where_there_is_nothing_to_roll_back_to(
    service: ServiceFixture,
) -> None:
    await service.log_in()
    async with answering(service.running_service, automated()) as agent:
        ran = await service.run("app", "rollback", "shop", 99, "--auto-sync-off", "--yes")
    assert ran.code == 2
    assert "prod/argocd/shop has no history entry 99; there are 3" in ran.err
    assert agent.offered == []
