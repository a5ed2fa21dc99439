"""The audit says how a task ended, once, whoever repeats it; two records are never one number."""

import asyncio

from bus.identity import new_id
from bus.link import TaskPhase, TaskResult
from service.audit import audit_book
from service.audit.audit_record import AuditEntry
from service.audit.verification import verify
from service.history.audit_entries import follow_results
from service.projection.batch import Batch, BatchScope
from tests.service.api.api_fixture import ApiFixture


def entry(api: ApiFixture, id_: str = "") -> AuditEntry:
    return AuditEntry(
        account=api.account,
        id=id_ or new_id(),
        time=api.clock(),
        actor="argocd-controller",
        action="drift.began",
        resource="argocd/shop",
        detail={"n": 1, "text": "é'\"<b>", "nested": {"b": [1, 2.5, None], "a": True}},
    )


async def test_the_end_of_a_task_is_recorded_once(api: ApiFixture) -> None:
    agent = await api.agent("prod")
    id_ = await api.application(agent, "shop")
    mira = await api.person("deployer")
    task = (await mira.call("POST", f"/applications/{id_}/sync", {})).body["task"]["id"]
    result = TaskResult(id=task, phase=TaskPhase.FAILED, code="conflict", message="it changed")
    scope = BatchScope(
        account_id=api.account,
        agent_id=agent,
        agent="prod",
        environment="",
        region="",
        epoch="e",
    )
    for _ in range(2):
        async with api.engine.begin() as connection:
            await follow_results(connection, scope, Batch(results=(result,)), api.clock())
    (ended,) = [it for it in await api.rows("audit") if it.action == "task.sync.ended"]
    assert (ended.actor, ended.outcome, ended.source) == (mira.name, "conflict", "agent")
    assert ended.detail["task"] == task


async def test_an_entry_of_the_same_id_is_recorded_once(api: ApiFixture) -> None:
    for _ in range(2):
        async with api.engine.begin() as connection:
            await audit_book.record(connection, entry(api, "same"))
    assert len(await api.rows("audit")) == 1


async def test_a_rolled_back_record_leaves_no_hole(api: ApiFixture) -> None:
    async def write(*, fails: bool) -> None:
        async with api.engine.connect() as connection:
            await audit_book.record(connection, entry(api))
            await (connection.rollback() if fails else connection.commit())

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(write(fails=number % 3 == 0))
    async with api.engine.connect() as connection:
        verdict = await verify(connection, api.account, api.dependencies.keys.ring)
    assert verdict.intact
    assert verdict.records == 13


async def test_each_account_has_a_chain_of_its_own(api: ApiFixture) -> None:
    other = await api.make_account("other")
    for account in (api.account, other, api.account):
        mine = AuditEntry(
            account=account,
            id=new_id(),
            time=api.clock(),
            actor="a",
            action="b.c",
            resource="d",
        )
        async with api.engine.begin() as connection:
            await audit_book.record(connection, mine)
    async with api.engine.connect() as connection:
        assert (await verify(connection, api.account, api.dependencies.keys.ring)).records == 2
        assert (await verify(connection, other, api.dependencies.keys.ring)).records == 1


async def test_a_change_is_recorded_with_what_was_before_and_after(api: ApiFixture) -> None:
    admin = await api.person("administrator")
    agent = await api.agent("prod", region="eu")
    change = {"region": "us", "labels": {"note": "https://me:x7canary@host/x"}}
    answer = await admin.call("PATCH", f"/agents/{agent}", change, {"If-Match": "*"})
    assert answer.status == 200
    (record,) = (await admin.get("/audit?action=agent.changed")).body["items"]
    assert record["detail"]["region"] == {"before": "eu", "after": "us"}
    assert record["detail"]["labels"]["after"] == {"note": "https://host/x"}
    assert (record["actor"], record["address"]) == (admin.name, "127.0.0.1")
    assert "x7canary" not in str(record)
