"""The begin and the end of a shell in the audit: one end for each begin, whoever finds it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, func, update

from bus.link import ExecArguments, Offer, TaskPhase, TaskResult
from service.gateway.open_shells import (
    OpenShell,
    ShellResult,
    begin_shell,
    end_shell,
    renew_shell,
    sweep_shells,
)
from service.gateway.task_store import QueuedTask
from service.lifecycle import now
from service.store.tables import agents, audit, open_shells
from tests.service.fake_agent import AgentIdentity, FakeOutbox, connect
from tests.service.service_fixture import RunningService
from tests.support import eventually


@pytest.fixture
async def identity(running_service: RunningService) -> AgentIdentity:
    return await running_service.enrolled()


async def begun(running_service: RunningService) -> str:
    """A shell's task, as a request submits it."""
    (agent,) = await running_service.rows(agents)
    new = QueuedTask(
        account_id=agent.account_id,
        agent_id=agent.id,
        actor="anna",
        subject="argocd/web",
        arguments=ExecArguments(kind="Pod", namespace="shop", name="web"),
        not_after=now() + timedelta(minutes=1),
    )
    dependencies = running_service.service.dependencies
    async with dependencies.engine.begin() as connection:
        task = await dependencies.tasks.submit(connection, new)
        shell = OpenShell(
            task_id=task,
            account_id=agent.account_id,
            agent_id=agent.id,
            actor="anna",
            address="192.0.2.1",
            subject="argocd/web",
            project="default",
            pod={"namespace": "shop", "pod": "web", "container": ""},
            begun_at=now(),
        )
        await begin_shell(connection, shell)
    return task


async def sweep(running_service: RunningService, late: float = 1.0) -> None:
    """Sweep so many seconds after the end of the lease."""
    dependencies = running_service.service.dependencies
    if late:
        async with dependencies.engine.begin() as connection:
            past = func.now() - timedelta(seconds=late)
            await connection.execute(update(open_shells).values(kept_until=past))
    await sweep_shells(dependencies.tasks, now)


async def ends(running_service: RunningService) -> list[dict[str, Any]]:
    rows = await running_service.rows(audit)
    return [row.detail for row in rows if row.action == "exec.ended"]


async def test_an_end_is_recorded_once_with_the_characters_of_the_last_renewal(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    task = await begun(running_service)
    result = ShellResult(task_id=task, reason="the reader left", output=3)
    async with running_service.service.dependencies.engine.begin() as connection:
        assert await renew_shell(connection, task, 70, 9)
        assert await end_shell(connection, result, now())
        assert not await end_shell(connection, result, now())
        assert not await renew_shell(connection, task, 80, 9)
    (ended,) = await ends(running_service)
    assert (ended["output"], ended["input"], ended["reason"]) == (70, 9, "the reader left")


async def test_a_shell_that_is_renewed_is_left_alone(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    await begun(running_service)
    await sweep(running_service, late=0)
    assert await ends(running_service) == []
    assert len(await running_service.rows(open_shells)) == 1


async def test_an_abandoned_shell_that_no_agent_took_is_cancelled_and_recorded(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    task = await begun(running_service)
    await sweep(running_service)
    (ended,) = await ends(running_service)
    assert (ended["task"], ended["exitCode"]) == (task, None)
    assert "the replica of the service that carried it was lost" in ended["reason"]
    assert await running_service.rows(open_shells) == []


async def test_an_abandoned_shell_is_recorded_when_its_agent_has_ended_it(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    outbox = FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        task = await begun(running_service)
        await link.until(Offer)
        await sweep(running_service)
        assert await ends(running_service) == []
        done = TaskResult(id=task, phase=TaskPhase.SUCCEEDED, body={"exitCode": 4})
        await link.put([outbox.task("result.v1", done)])
    await sweep(running_service)
    ended = await eventually(lambda: ends(running_service), what="the record of the end")
    assert [it["exitCode"] for it in ended] == [4]


async def test_an_agent_that_does_not_end_a_shell_is_given_up(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    outbox = FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await begun(running_service)
        await link.until(Offer)
        await sweep(running_service, late=590)
        assert await ends(running_service) == []
        await sweep(running_service, late=601)
    (ended,) = await ends(running_service)
    assert "the agent does not end it" in ended["reason"]


async def test_the_end_is_recorded_where_the_agent_was_removed(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    await begun(running_service)
    async with running_service.service.dependencies.engine.begin() as connection:
        await connection.execute(delete(agents))
    await sweep(running_service)
    (ended,) = await ends(running_service)
    assert "its agent was removed" in ended["reason"]
