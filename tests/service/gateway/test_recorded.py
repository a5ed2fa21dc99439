"""What agents tell is in the audit: how tasks ended, beside syncs and drifts."""

from __future__ import annotations

from bus.link import (
    Offer,
    SyncArguments,
    TaskArguments,
    TaskPhase,
    TaskResult,
    TreeArguments,
)
from service.gateway.task_store import QueuedTask
from service.store.tables import agents, audit
from tests.service.fake_agent import FakeOutbox, connect
from tests.service.service_fixture import RunningService


async def submitted(running_service: RunningService, arguments: TaskArguments) -> str:
    (agent,) = await running_service.rows(agents)
    new = QueuedTask(
        account_id=agent.account_id,
        agent_id=agent.id,
        arguments=arguments,
        subject="argocd/a",
        actor="ann",
    )
    dependencies = running_service.service.dependencies
    async with dependencies.engine.begin() as connection:
        return await dependencies.tasks.submit(connection, new)


async def test_the_end_of_what_was_ordered_is_in_the_audit_and_of_what_was_read_is_not(
    running_service: RunningService,
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        tasks = []
        for arguments in (SyncArguments(), TreeArguments()):
            tasks.append(await submitted(running_service, arguments))
            offered = (await link.until(Offer)).task.id
            result = TaskResult(id=offered, phase=TaskPhase.FAILED, code="conflict", message="why")
            await link.put([outbox.task("result.v1", result)])
    (ended,) = [it for it in await running_service.rows(audit) if it.action.startswith("task.")]
    assert (ended.action, ended.actor, ended.outcome) == ("task.sync.ended", "ann", "conflict")
    assert ended.detail["task"] == tasks[0]
