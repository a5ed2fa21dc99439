"""What agents tell is in the audit: how tasks ended, beside syncs and drifts."""

from __future__ import annotations

from bus.link import Offer, TaskKind, TaskPhase, TaskResult
from service.gateway.tasks import NewTask
from service.store.tables import agents, audit
from tests.service.client import Outbox, connect
from tests.service.world import World


async def submitted(world: World, kind: TaskKind) -> str:
    (agent,) = await world.rows(agents)
    new = NewTask(
        account_id=agent.account_id, agent_id=agent.id, kind=kind, subject="argocd/a", actor="ann"
    )
    parts = world.service.parts
    async with parts.engine.begin() as connection:
        return await parts.tasks.submit(connection, new)


async def test_the_end_of_what_was_ordered_is_in_the_audit_and_of_what_was_read_is_not(
    world: World,
) -> None:
    identity, outbox = await world.enrolled(), Outbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        tasks = [await submitted(world, kind) for kind in (TaskKind.SYNC, TaskKind.TREE)]
        for id_ in tasks:
            await link.until(Offer)
            result = TaskResult(id=id_, phase=TaskPhase.FAILED, code="conflict", message="why")
            await link.put([outbox.task("result.v1", result)])
    (ended,) = [it for it in await world.rows(audit) if it.action.startswith("task.")]
    assert (ended.action, ended.actor, ended.outcome) == ("task.sync.ended", "ann", "conflict")
    assert ended.detail["task"] == tasks[0]
