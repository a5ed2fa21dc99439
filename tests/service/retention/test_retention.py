"""Old records go, new ones stay, and what is left is still proven: on a real PostgreSQL."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from sqlalchemy import Select, Table, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from bus.ids import new_id
from service.api.pages import Order
from service.app import now
from service.audit import book
from service.audit.record import Entry
from service.audit.verify import Verdict, verify
from service.gateway.tasks import NewTask
from service.history.ledger import Drift
from service.history.past import store
from service.projection.reduce import Written
from service.projection.values import Scope
from service.projection.write import write
from service.retention import partitions
from service.retention.job import LOCK
from service.retention.policy import RecordClass, month_of
from service.retention.routes import job_of
from service.store.tables import accounts, audit, audit_checkpoints, drifts, facts, tasks
from tests.service.world import World, open_service, settings
from tests.support import eventually

MONTH = timedelta(days=31)
YEARS = timedelta(days=5 * 365)
_OWN_SIGNATURE = (
    "INSERT INTO audit_checkpoints SELECT account_id, sequence, hash, now(), key_id, signature"
    " FROM audit WHERE account_id = $1 AND sequence = 3"
)


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with open_service(settings(database_url)) as service:
        yield World(service)


async def make_month(world: World, records: RecordClass, moment: datetime) -> date:
    """A partition for a month that is over, as if the service had run then."""
    month = month_of(moment).date()
    async with world.service.parts.engine.begin() as connection:
        await partitions.add_month(connection, records, month)
    return month


def own_run_ended(world: World) -> bool:
    """Or it would find what a test is about to record, and cut it first."""
    name = "gitops_service_retention_last_run_timestamp_seconds"
    return bool(world.service.parts.registry.get_sample_value(name))


async def retain(world: World) -> None:
    """Once the service's own run is over."""
    parts = world.service.parts
    async with asyncio.timeout(60):
        while not await job_of(parts).once():
            async with parts.engine.begin() as connection:
                await connection.execute(select(func.pg_advisory_xact_lock(LOCK)))


async def add(world: World, table: Table, **values: Any) -> None:
    async with world.service.parts.engine.begin() as connection:
        await connection.execute(insert(table).values(**values))


async def fact(world: World, agent: str, event: str, time: datetime) -> None:
    await add(
        world,
        facts,
        agent_id=agent,
        event_id=event,
        type="fact.app.compared.v1",
        subject="argocd/shop",
        time=time,
    )


def record(account: str, time: datetime, **more: Any) -> Entry:
    return Entry(
        account=account, id=new_id(), time=time, actor="mira", action="a.b", resource="r", **more
    )


async def record_all(world: World, account: str, *times: datetime) -> None:
    async with world.service.parts.engine.begin() as connection:
        await book.record_all(connection, [record(account, time) for time in times])


async def names_of(world: World, table: str) -> set[str]:
    query = text("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = :t ::regclass")
    async with world.service.parts.engine.connect() as connection:
        return set((await connection.execute(query, {"t": table})).scalars())


@pytest.mark.parametrize("in_month", [True, False], ids=["in its month", "outside every month"])
async def test_old_facts_go_and_new_ones_stay(world: World, *, in_month: bool) -> None:
    agent, old = await world.agent(), now() - YEARS
    month = await make_month(world, RecordClass.FACTS, old) if in_month else None
    await fact(world, agent, "old", old)
    await fact(world, agent, "new", now())
    await retain(world)
    assert [row.event_id for row in await world.rows(facts)] == ["new"]
    if month:
        assert f"facts_{month:%Y_%m}" not in await names_of(world, "facts")
    removed = world.service.parts.metrics.registry.get_sample_value(
        "gitops_service_retention_removed_rows_total", {"table": "facts"}
    )
    assert removed == 1


async def test_the_next_months_have_their_partitions(world: World) -> None:
    await retain(world)
    coming = month_of(now() + 2 * MONTH)
    for records in RecordClass:
        assert f"{records}_{coming:%Y_%m}" in await names_of(world, records)


async def test_facts_that_came_before_their_partition_move_into_it(world: World) -> None:
    agent, later = await world.agent(), now() + YEARS
    await fact(world, agent, "ahead", later)
    month = await make_month(world, RecordClass.FACTS, later)
    async with world.service.parts.engine.connect() as connection:
        place = text("SELECT tableoid::regclass::text FROM facts")
        assert await connection.scalar(place) == f"facts_{month:%Y_%m}"


@pytest.mark.parametrize("in_month", [True, False], ids=["in its month", "outside every month"])
async def test_a_drift_stays_for_as_long_as_it_lasts(world: World, *, in_month: bool) -> None:
    agent, old = await world.agent(), now() - YEARS
    if in_month:
        await make_month(world, RecordClass.DRIFTS, old)
    row = {"agent_id": agent, "subject": "argocd/shop", "object": "x", "began_at": old}
    await add(world, drifts, id="over", ended_at=old, **row)
    await add(world, drifts, id="lasts", **row)
    await retain(world)
    assert [it.id for it in await world.rows(drifts)] == ["lasts"]
    async with world.service.parts.engine.begin() as connection:
        await connection.execute(update(drifts).values(ended_at=now()))
    await retain(world)
    assert await world.rows(drifts) == []


def task_id(moment: datetime, number: int) -> str:
    """A UUID of version 7 of another time than now."""
    head = f"{int(moment.timestamp() * 1000):012x}"
    return f"{head[:8]}-{head[8:]}-7000-8000-{number:012x}"


@pytest.mark.parametrize("in_month", [True, False], ids=["in its month", "outside every month"])
async def test_ended_tasks_go_and_running_ones_stay(world: World, *, in_month: bool) -> None:
    agent, old = await world.agent(), now() - YEARS
    if in_month:
        await make_month(world, RecordClass.TASKS, old)
    account = (await world.rows(accounts))[0].id
    row = {"account_id": account, "agent_id": agent, "kind": "sync", "clazz": "control"}
    row |= {"actor": "mira"}
    ended, running, new = task_id(old, 1), task_id(old, 2), new_id()
    await add(world, tasks, id=ended, created_at=old, finished_at=old, phase="succeeded", **row)
    await add(world, tasks, id=running, created_at=old, phase="running", **row)
    await add(world, tasks, id=new, finished_at=now(), phase="succeeded", **row)
    await retain(world)
    assert {it.id for it in await world.rows(tasks)} == {running, new}


async def test_an_idempotency_key_is_free_again_when_its_task_is_gone(world: World) -> None:
    agent, parts = await world.agent(), world.service.parts
    account = (await world.rows(accounts))[0].id
    new = NewTask(
        account_id=account,
        agent_id=agent,
        kind="refresh",  # type: ignore[arg-type]  # as the wire says it
        actor="mira",
        principal_id="p",
        idempotency_key="k",
    )
    async with parts.engine.begin() as connection:
        await parts.tasks.submit(connection, new)
        await connection.execute(text("UPDATE idempotency_keys SET created_at = '2020-01-01'"))
    await retain(world)
    async with parts.engine.begin() as connection:
        await parts.tasks.submit(connection, new)
    assert len(await world.rows(tasks)) == 2


async def test_a_fact_told_twice_is_kept_once_whichever_month_it_is_moved_to(world: World) -> None:
    agent = await world.agent()
    scope = Scope(
        account_id="a", agent_id=agent, agent="prod", environment="", region="", epoch="e"
    )
    border = month_of(now())
    for time in (border - timedelta(seconds=1), border + timedelta(seconds=1)):
        row: dict[str, Any] = {
            "agent_id": agent,
            "event_id": "e1",
            "type": "t",
            "subject": "s",
            "project": "",
        }
        row |= {"correlation": "", "time": time, "agent_time": None, "body": {}}
        async with world.service.parts.engine.begin() as connection:
            await write(connection, scope, Written(facts=[row, row]))
    assert [it.time for it in await world.rows(facts)] == [border - timedelta(seconds=1)]


async def test_a_drift_has_one_row_whichever_month_it_is_moved_to(world: World) -> None:
    agent, border = await world.agent(), month_of(now())
    for time in (border - timedelta(seconds=1), border + timedelta(seconds=1)):
        drift = Drift(id="d", subject="s", project="", object="o", began_at=time)
        async with world.service.parts.engine.begin() as connection:
            await store(connection, agent, [drift])
    assert [it.id for it in await world.rows(drifts)] == ["d"]


# --- the audit -----------------------------------------------------------------------------------


async def old_audit(world: World, count: int = 5) -> str:
    """An account whose audit begins long ago; the last of its records is of today."""
    await eventually(lambda: own_run_ended(world))
    account, old = new_id(), now() - YEARS
    await make_month(world, RecordClass.AUDIT, old)
    await add(world, accounts, id=account, name=account)
    await record_all(world, account, *[old] * count, now())
    return account


async def verdict_of(world: World, account: str) -> Verdict:
    parts = world.service.parts
    async with parts.engine.connect() as connection:
        return await verify(connection, account, parts.keys.ring)


async def kept(world: World, account: str) -> list[tuple[int, str]]:
    rows = [row for row in await world.rows(audit) if row.account_id == account]
    return sorted((row.sequence, row.action) for row in rows)


async def as_owner(url: str, statement: str, *values: str) -> None:
    connection = await asyncpg.connect(url, timeout=10)
    try:
        await connection.execute("ALTER TABLE audit DISABLE TRIGGER USER")
        await connection.execute(statement, *values)
        await connection.execute("ALTER TABLE audit ENABLE TRIGGER USER")
    finally:
        await connection.close()


async def test_a_trimmed_audit_verifies_and_says_what_was_trimmed(world: World) -> None:
    account = await old_audit(world)
    await retain(world)
    assert await kept(world, account) == [(6, "a.b"), (7, "audit.trimmed")]
    found = await verdict_of(world, account)
    assert (found.intact, found.trimmed, found.records, found.signed) == (True, 5, 7, True)
    await retain(world)
    assert len(await kept(world, account)) == 2
    status, body = await world.call("GET", "/audit/verify")
    assert (status, body["ok"], body["trimmed"]) == (200, True, 0)


async def test_an_old_record_that_was_told_late_stays_with_the_newer_ones(world: World) -> None:
    account = await old_audit(world)
    await record_all(world, account, now() - YEARS)
    await retain(world)
    assert [sequence for sequence, _ in await kept(world, account)] == [6, 7, 8]
    assert (await verdict_of(world, account)).intact


async def test_the_newest_record_stays_however_old_it_is(world: World) -> None:
    await eventually(lambda: own_run_ended(world))
    account = new_id()
    await add(world, accounts, id=account, name=account)
    await record_all(world, account, *[now() - YEARS] * 3)
    await retain(world)
    assert [sequence for sequence, _ in await kept(world, account)] == [3, 4]
    assert (await verdict_of(world, account)).intact


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("DELETE FROM audit_checkpoints", "record 1 is missing"),
        ("UPDATE audit_checkpoints SET sequence = 6", "record 1 is missing"),
        ("DELETE FROM audit WHERE sequence = 6", "record 6 is missing"),
    ],
    ids=["without its checkpoint", "with another checkpoint", "with more cut off"],
)
async def test_a_cut_that_no_checkpoint_covers_is_found(
    world: World, database_url: str, statement: str, reason: str
) -> None:
    account = await old_audit(world)
    await retain(world)
    await as_owner(database_url, statement)
    found = await verdict_of(world, account)
    assert not found.intact
    assert reason in found.reason


async def test_a_records_own_signature_is_no_checkpoint(world: World, database_url: str) -> None:
    account = await old_audit(world)
    await as_owner(database_url, _OWN_SIGNATURE, account)
    await as_owner(
        database_url, "DELETE FROM audit WHERE account_id = $1 AND sequence <= 3", account
    )
    assert "record 1 is missing" in (await verdict_of(world, account)).reason


async def test_an_audit_that_does_not_verify_is_kept_as_evidence(
    world: World, database_url: str
) -> None:
    account = await old_audit(world)
    changed = "UPDATE audit SET actor = 'x' WHERE sequence = 2 AND account_id = $1"
    await as_owner(database_url, changed, account)
    await retain(world)
    assert len(await kept(world, account)) == 6
    assert await world.rows(audit_checkpoints) == []


@pytest.mark.parametrize("records", list(RecordClass))
async def test_the_services_role_removes_no_young_audit(world: World, records: RecordClass) -> None:
    """The function of the tables' owner refuses, whatever the service was made to ask for."""
    month = month_of(now() - 3 * MONTH).date()
    async with world.service.parts.engine.begin() as connection:
        await partitions.add_month(connection, records, month)
        if records is not RecordClass.AUDIT:
            await partitions.drop_month(connection, records, month)
            return
        with pytest.raises(DBAPIError, match="last 90 days stay"):
            await partitions.drop_month(connection, records, month)


@pytest.mark.parametrize("statement", ["DELETE FROM audit_2026_01", "DELETE FROM audit_other"])
async def test_partitions_of_the_audit_are_append_only_too(world: World, statement: str) -> None:
    await make_month(world, RecordClass.AUDIT, datetime(2026, 1, 5, tzinfo=UTC))
    async with world.service.parts.engine.begin() as connection:
        with pytest.raises(DBAPIError, match="append-only"):
            await connection.execute(text(statement))


# --- one replica, and the planner ----------------------------------------------------------------


async def test_one_replica_does_it_at_a_time(world: World) -> None:
    await retain(world)
    async with world.service.parts.engine.connect() as other:
        await other.execute(select(func.pg_advisory_lock(LOCK)))
        assert not await job_of(world.service.parts).once()
        await other.execute(select(func.pg_advisory_unlock(LOCK)))
    await retain(world)


async def plan_of(world: World, query: Select[Any]) -> list[str]:
    """The lines of EXPLAIN."""
    engine = world.service.parts.engine
    plain = query.compile(dialect=engine.dialect, compile_kwargs={"literal_binds": True})
    async with engine.connect() as connection:
        return list((await connection.execute(text(f"EXPLAIN {plain}"))).scalars())


async def test_a_timeline_with_a_begin_looks_at_its_months_only(world: World) -> None:
    for months in range(1, 12):
        await make_month(world, RecordClass.FACTS, now() - months * MONTH)
    since = now() - timedelta(hours=1)
    query = select(facts.c.id).where(facts.c.time >= since, facts.c.time < now())
    order = query.order_by(facts.c.time.desc(), facts.c.id.desc()).limit(100)
    lines = await plan_of(world, order)
    seen = {found for line in lines for found in re.findall(r"facts_(?:\d{4}_\d{2}|other)", line)}
    assert f"facts_{month_of(now()):%Y_%m}" in seen
    assert len(seen) <= 2, seen


async def test_the_next_page_looks_at_no_newer_month(world: World) -> None:
    order = Order(columns=(facts.c.time, facts.c.id), descending=True)
    past = now() - 6 * MONTH
    for months in range(1, 12):
        await make_month(world, RecordClass.FACTS, now() - months * MONTH)
    query = select(facts.c.id).where(order.after((past, 7))).order_by(*order.terms())
    lines = await plan_of(world, query)
    assert not any(f"facts_{month_of(now()):%Y_%m}" in line for line in lines), lines
    assert any(f"facts_{month_of(past):%Y_%m}" in line for line in lines)
