"""Tasks of kinds that an agent does not do: refused at once, and said which, where and why."""

from __future__ import annotations

import pytest

from bus.link import Offer, RollbackArguments, SyncArguments, TaskArguments, TaskKind
from service.gateway.agent_task_kinds import AgentTaskKinds, UnsupportedTaskError
from service.gateway.task_store import QueuedTask
from service.store.tables import agents, tasks
from tests.service.fake_agent import AgentIdentity, connect
from tests.service.service_fixture import RunningService

OLDER = ("task.sync", "task.refresh", "sealed")


@pytest.fixture
async def identity(running_service: RunningService) -> AgentIdentity:
    return await running_service.enrolled()


async def submit(running_service: RunningService, arguments: TaskArguments) -> str:
    (agent,) = await running_service.rows(agents)
    new = QueuedTask(
        account_id=agent.account_id,
        agent_id=agent.id,
        arguments=arguments,
        subject="argocd/shop",
        actor="ann",
    )
    dependencies = running_service.service.dependencies
    async with dependencies.engine.begin() as connection:
        return await dependencies.tasks.submit(connection, new)


@pytest.mark.parametrize(
    ("capabilities", "supported"),
    [([], True), (["sealed"], True), ([*OLDER], False), ([*OLDER, "task.rollback"], True)],
    ids=["names nothing", "names no kinds", "lacks the kind", "names the kind"],
)
def test_a_kind_is_unsupported_where_others_are_named(
    capabilities: list[str], *, supported: bool
) -> None:
    kinds = AgentTaskKinds(name="edge", agent_version="0.2.0", capabilities=capabilities)
    assert kinds.supports(TaskKind.ROLLBACK) is supported


async def test_a_task_of_a_kind_that_the_agent_lacks_is_refused_at_once(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    async with connect(identity) as link:
        await link.hello(identity, "e", capabilities=OLDER)
        with pytest.raises(UnsupportedTaskError) as refused:
            await submit(running_service, RollbackArguments(history_id=1))
        done = await submit(running_service, SyncArguments())
        assert (await link.until(Offer)).task.id == done
    assert str(refused.value) == (
        f"agent {identity.agent} of version 1.0 does not do tasks of kind rollback"
    )
    assert [row.id for row in await running_service.rows(tasks)] == [done]


async def test_an_agent_that_names_no_kinds_is_asked_for_each(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    async with connect(identity) as link:
        await link.hello(identity, "e")
        task = await submit(running_service, RollbackArguments(history_id=1))
        assert (await link.until(Offer)).task.id == task


async def test_a_task_that_waited_for_an_agent_that_lacks_its_kind_fails_when_it_connects(
    running_service: RunningService, identity: AgentIdentity
) -> None:
    waited = await submit(running_service, RollbackArguments(history_id=1))
    offered = await submit(running_service, SyncArguments())
    async with connect(identity) as link:
        await link.hello(identity, "e", capabilities=OLDER)
        assert (await link.until(Offer)).task.id == offered
    ended = next(row for row in await running_service.rows(tasks) if row.id == waited)
    assert (ended.phase, ended.code) == ("failed", "unsupported")
    assert "kind rollback" in ended.message
