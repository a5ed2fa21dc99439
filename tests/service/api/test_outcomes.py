"""The audit says how a task ended, once, whoever repeats it; two records are never one number."""

import asyncio

import pytest

from bus.ids import new_id
from bus.link import TaskPhase, TaskResult
from service.audit import book
from service.audit.outcomes import follow_results
from service.audit.record import Entry
from service.audit.verify import verify
from service.projection.values import Batch, Scope
from tests.service.api.world import World

pytestmark = pytest.mark.flow


def entry(world: World, id_: str = "") -> Entry:
    return Entry(
        account=world.account,
        id=id_ or new_id(),
        time=world.clock(),
        actor="argocd-controller",
        action="drift.began",
        resource="argocd/shop",
        detail={"n": 1, "text": "é'\"<b>", "nested": {"b": [1, 2.5, None], "a": True}},
    )


async def test_the_end_of_a_task_is_recorded_once(world: World) -> None:
    agent = await world.agent("prod")
    id_ = await world.application(agent, "shop")
    mira = await world.person("deployer")
    task = (await mira.call("POST", f"/applications/{id_}/sync", {})).body["task"]["id"]
    result = TaskResult(id=task, phase=TaskPhase.FAILED, code="conflict", message="it changed")
    scope = Scope(
        account_id=world.account,
        agent_id=agent,
        agent="prod",
        environment="",
        region="",
        epoch="e",
    )
    for _ in range(2):
        async with world.engine.begin() as connection:
            await follow_results(connection, scope, Batch(results=(result,)), world.clock())
    (ended,) = [it for it in await world.rows("audit") if it.action == "task.sync.ended"]
    assert (ended.actor, ended.outcome, ended.source) == (mira.name, "conflict", "agent")
    assert ended.detail["task"] == task


async def test_what_is_told_twice_is_recorded_once(world: World) -> None:
    for _ in range(2):
        async with world.engine.begin() as connection:
            await book.record(connection, entry(world, "same"))
    assert len(await world.rows("audit")) == 1


async def test_a_rolled_back_record_leaves_no_hole(world: World) -> None:
    async def write(*, fails: bool) -> None:
        async with world.engine.connect() as connection:
            await book.record(connection, entry(world))
            await (connection.rollback() if fails else connection.commit())

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(write(fails=number % 3 == 0))
    async with world.engine.connect() as connection:
        verdict = await verify(connection, world.account, world.parts.keys.ring)
    assert verdict.intact
    assert verdict.records == 13


async def test_each_account_has_a_chain_of_its_own(world: World) -> None:
    other = await world.make_account("other")
    for account in (world.account, other, world.account):
        mine = Entry(
            account=account,
            id=new_id(),
            time=world.clock(),
            actor="a",
            action="b.c",
            resource="d",
        )
        async with world.engine.begin() as connection:
            await book.record(connection, mine)
    async with world.engine.connect() as connection:
        assert (await verify(connection, world.account, world.parts.keys.ring)).records == 2
        assert (await verify(connection, other, world.parts.keys.ring)).records == 1


async def test_a_change_is_recorded_with_what_was_before_and_after(world: World) -> None:
    admin = await world.person("administrator")
    agent = await world.agent("prod", region="eu")
    change = {"region": "us", "labels": {"note": "https://me:x7canary@host/x"}}
    answer = await admin.call("PATCH", f"/agents/{agent}", change, {"If-Match": "*"})
    assert answer.status == 200
    (record,) = (await admin.get("/audit?action=agent.changed")).body["items"]
    assert record["detail"]["region"] == {"before": "eu", "after": "us"}
    assert record["detail"]["labels"]["after"] == {"note": "https://host/x"}
    assert (record["actor"], record["address"]) == (admin.name, "127.0.0.1")
    assert "x7canary" not in str(record)
