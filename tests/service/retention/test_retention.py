"""Old records go, new ones stay, and what is left is still proven: on a real PostgreSQL."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

import asyncpg
import pytest
from sqlalchemy import Select, Table, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.identity import new_id
from bus.link import RefreshArguments
from service.audit import audit_book
from service.audit.audit_record import AuditEntry
from service.audit.verification import ChainVerdict, verify
from service.gateway.task_store import QueuedTask
from service.history.ledger import LedgerDrift
from service.history.ledger_input import store
from service.http.pages import PageOrder
from service.lifecycle import now
from service.projection.batch import BatchScope
from service.projection.batch_changes import BatchChanges
from service.projection.row_writes import write
from service.retention import policy
from service.retention.audit import checkpoint
from service.retention.job import LOCK
from service.retention.policy import RecordClass, month_of
from service.store.tables import accounts, audit, audit_checkpoints, drifts, facts, tasks
from service.wiring import retention_job
from tests.service.service_fixture import RunningService, open_service, settings
from tests.support import eventually

MONTH = timedelta(days=31)
YEARS = timedelta(days=5 * 365)
_OWN_SIGNATURE = (
    "INSERT INTO audit_checkpoints SELECT account_id, sequence, hash, now(), key_id, signature"
    " FROM audit WHERE account_id = $1 AND sequence = 3"
)


@pytest.fixture
async def running_service(database_url: str) -> AsyncIterator[RunningService]:
    async with open_service(settings(database_url)) as service:
        yield RunningService(service)


async def make_month(running_service: RunningService, records: RecordClass, time: datetime) -> date:
    """A partition for a month that is over, as if the service had run then."""
    month = month_of(time).date()
    async with running_service.service.dependencies.engine.begin() as connection:
        await policy.add_month(connection, records, month)
    return month


def own_run_ended(running_service: RunningService) -> bool:
    """Or it would find what a test is about to record, and cut it first."""
    name = "gitops_service_retention_last_run_timestamp_seconds"
    return bool(running_service.service.dependencies.metrics.registry.get_sample_value(name))


async def retain(running_service: RunningService) -> None:
    """Once the service's own run is over."""
    dependencies = running_service.service.dependencies
    async with asyncio.timeout(120):
        while not await retention_job(dependencies).once():
            async with dependencies.engine.begin() as connection:
                await connection.execute(select(func.pg_advisory_xact_lock(LOCK)))


async def add(running_service: RunningService, table: Table, **values: Any) -> None:
    async with running_service.service.dependencies.engine.begin() as connection:
        await connection.execute(insert(table).values(**values))


async def fact(running_service: RunningService, agent: str, event: str, time: datetime) -> None:
    await add(
        running_service,
        facts,
        agent_id=agent,
        event_id=event,
        type="fact.app.compared.v1",
        subject="argocd/shop",
        time=time,
    )


def record(account: str, time: datetime, **more: Any) -> AuditEntry:
    return AuditEntry(
        account=account, id=new_id(), time=time, actor="mira", action="a.b", resource="r", **more
    )


async def record_all(running_service: RunningService, account: str, *times: datetime) -> None:
    async with running_service.service.dependencies.engine.begin() as connection:
        await audit_book.record_all(connection, [record(account, time) for time in times])


async def names_of(running_service: RunningService, table: str) -> set[str]:
    query = text("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = :t ::regclass")
    async with running_service.service.dependencies.engine.connect() as connection:
        return set((await connection.execute(query, {"t": table})).scalars())


@pytest.mark.parametrize("in_month", [True, False], ids=["in its month", "outside every month"])
async def test_old_facts_go_and_new_ones_stay(
    running_service: RunningService, *, in_month: bool
) -> None:
    agent, old = await running_service.agent(), now() - YEARS
    month = await make_month(running_service, RecordClass.FACTS, old) if in_month else None
    await fact(running_service, agent, "old", old)
    await fact(running_service, agent, "new", now())
    await retain(running_service)
    assert [row.event_id for row in await running_service.rows(facts)] == ["new"]
    if month:
        assert f"facts_{month:%Y_%m}" not in await names_of(running_service, "facts")
    removed = running_service.service.dependencies.metrics.registry.get_sample_value(
        "gitops_service_retention_removed_rows_total", {"table": "facts"}
    )
    assert removed == 1


async def test_the_next_months_have_their_partitions(running_service: RunningService) -> None:
    await retain(running_service)
    coming = month_of(now() + 2 * MONTH)
    for records in RecordClass:
        assert f"{records}_{coming:%Y_%m}" in await names_of(running_service, records)


async def test_facts_that_came_before_their_partition_move_into_it(
    running_service: RunningService,
) -> None:
    agent, later = await running_service.agent(), now() + YEARS
    await fact(running_service, agent, "ahead", later)
    month = await make_month(running_service, RecordClass.FACTS, later)
    async with running_service.service.dependencies.engine.connect() as connection:
        place = text("SELECT tableoid::regclass::text FROM facts")
        assert await connection.scalar(place) == f"facts_{month:%Y_%m}"


@pytest.mark.parametrize("in_month", [True, False], ids=["in its month", "outside every month"])
async def test_a_drift_stays_for_as_long_as_it_lasts(
    running_service: RunningService, *, in_month: bool
) -> None:
    agent, old = await running_service.agent(), now() - YEARS
    if in_month:
        await make_month(running_service, RecordClass.DRIFTS, old)
    row = {"agent_id": agent, "subject": "argocd/shop", "object": "x", "began_at": old}
    await add(running_service, drifts, id="over", ended_at=old, **row)
    await add(running_service, drifts, id="lasts", **row)
    await retain(running_service)
    assert [it.id for it in await running_service.rows(drifts)] == ["lasts"]
    async with running_service.service.dependencies.engine.begin() as connection:
        await connection.execute(update(drifts).values(ended_at=now()))
    await retain(running_service)
    assert await running_service.rows(drifts) == []


def task_id(time: datetime, number: int) -> str:
    """A UUID of version 7 of another time than now."""
    head = f"{int(time.timestamp() * 1000):012x}"
    return f"{head[:8]}-{head[8:]}-7000-8000-{number:012x}"


@pytest.mark.parametrize("in_month", [True, False], ids=["in its month", "outside every month"])
async def test_ended_tasks_go_and_running_ones_stay(
    running_service: RunningService, *, in_month: bool
) -> None:
    agent, old = await running_service.agent(), now() - YEARS
    if in_month:
        await make_month(running_service, RecordClass.TASKS, old)
    account = (await running_service.rows(accounts))[0].id
    row = {"account_id": account, "agent_id": agent, "kind": "sync", "priority": "control"}
    row |= {"actor": "mira"}
    ended, running, new = task_id(old, 1), task_id(old, 2), new_id()
    await add(
        running_service, tasks, id=ended, created_at=old, finished_at=old, phase="succeeded", **row
    )
    await add(running_service, tasks, id=running, created_at=old, phase="running", **row)
    await add(running_service, tasks, id=new, finished_at=now(), phase="succeeded", **row)
    await retain(running_service)
    assert {it.id for it in await running_service.rows(tasks)} == {running, new}


async def test_an_idempotency_key_is_free_again_when_its_task_is_gone(
    running_service: RunningService,
) -> None:
    agent, dependencies = await running_service.agent(), running_service.service.dependencies
    account = (await running_service.rows(accounts))[0].id
    new = QueuedTask(
        account_id=account,
        agent_id=agent,
        arguments=RefreshArguments(),
        actor="mira",
        principal_id="p",
        idempotency_key="k",
    )
    async with dependencies.engine.begin() as connection:
        await dependencies.tasks.submit(connection, new)
        await connection.execute(text("UPDATE idempotency_keys SET created_at = '2020-01-01'"))
    await retain(running_service)
    async with dependencies.engine.begin() as connection:
        await dependencies.tasks.submit(connection, new)
    assert len(await running_service.rows(tasks)) == 2


async def test_a_repeated_fact_is_kept_once_whichever_month_it_is_moved_to(
    running_service: RunningService,
) -> None:
    agent = await running_service.agent()
    scope = BatchScope(
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
        async with running_service.service.dependencies.engine.begin() as connection:
            await write(connection, scope, BatchChanges(facts=[row, row]))
    assert [it.time for it in await running_service.rows(facts)] == [border - timedelta(seconds=1)]


async def test_a_drift_has_one_row_whichever_month_it_is_moved_to(
    running_service: RunningService,
) -> None:
    agent, border = await running_service.agent(), month_of(now())
    for time in (border - timedelta(seconds=1), border + timedelta(seconds=1)):
        drift = LedgerDrift(id="d", subject="s", project="", object="o", began_at=time)
        async with running_service.service.dependencies.engine.begin() as connection:
            await store(connection, agent, [drift])
    assert [it.id for it in await running_service.rows(drifts)] == ["d"]


# --- the audit -----------------------------------------------------------------------------------


async def old_audit(running_service: RunningService, count: int = 5) -> str:
    """An account whose audit begins long ago; the last of its records is of today."""
    await eventually(lambda: own_run_ended(running_service))
    account, old = new_id(), now() - YEARS
    await make_month(running_service, RecordClass.AUDIT, old)
    await add(running_service, accounts, id=account, name=account)
    await record_all(running_service, account, *[old] * count, now())
    return account


@dataclass
class WrittenDuring:
    """A connection of one run; somebody else writes once, after so many questions of it."""

    connection: AsyncConnection
    write: Callable[[], Awaitable[None]]
    after: int
    questions: int = 0

    async def execute(self, *arguments: Any) -> Any:
        answer = await self.connection.execute(*arguments)
        await self._asked()
        return answer

    async def scalar(self, *arguments: Any) -> Any:
        answer = await self.connection.scalar(*arguments)
        await self._asked()
        return answer

    async def _asked(self) -> None:
        self.questions += 1
        if self.questions == self.after:
            await self.write()


async def write_three(running_service: RunningService, account: str) -> None:
    """New records, of the same moment."""
    await record_all(running_service, account, *[now()] * 3)


async def verdict_of(running_service: RunningService, account: str) -> ChainVerdict:
    dependencies = running_service.service.dependencies
    async with dependencies.engine.connect() as connection:
        return await verify(connection, account, dependencies.keys.ring)


async def kept(running_service: RunningService, account: str) -> list[tuple[int, str]]:
    rows = [row for row in await running_service.rows(audit) if row.account_id == account]
    return sorted((row.sequence, row.action) for row in rows)


async def as_owner(url: str, statement: str, *values: str) -> None:
    connection = await asyncpg.connect(url, timeout=180)
    try:
        await connection.execute("ALTER TABLE audit DISABLE TRIGGER USER")
        await connection.execute(statement, *values)
        await connection.execute("ALTER TABLE audit ENABLE TRIGGER USER")
    finally:
        await connection.close()


async def test_a_trimmed_audit_verifies_and_says_what_was_trimmed(
    running_service: RunningService,
) -> None:
    account = await old_audit(running_service)
    await retain(running_service)
    assert await kept(running_service, account) == [(6, "a.b"), (7, "audit.trimmed")]
    found = await verdict_of(running_service, account)
    assert (found.intact, found.trimmed, found.records, found.signed) == (True, 5, 7, True)
    await retain(running_service)
    assert len(await kept(running_service, account)) == 2
    status, body = await running_service.call("GET", "/audit/verify")
    assert (status, body["ok"], body["trimmed"]) == (200, True, 0)


async def test_an_old_record_that_was_told_late_stays_with_the_newer_ones(
    running_service: RunningService,
) -> None:
    account = await old_audit(running_service)
    await record_all(running_service, account, now() - YEARS)
    await retain(running_service)
    assert [sequence for sequence, _ in await kept(running_service, account)] == [6, 7, 8]
    assert (await verdict_of(running_service, account)).intact


async def test_the_newest_record_stays_however_old_it_is(running_service: RunningService) -> None:
    await eventually(lambda: own_run_ended(running_service))
    account = new_id()
    await add(running_service, accounts, id=account, name=account)
    await record_all(running_service, account, *[now() - YEARS] * 3)
    await retain(running_service)
    assert [sequence for sequence, _ in await kept(running_service, account)] == [3, 4]
    assert (await verdict_of(running_service, account)).intact


@pytest.mark.parametrize("after", [1, 2])
async def test_what_is_written_during_a_run_is_not_taken_for_old(
    running_service: RunningService, after: int
) -> None:
    """Three new records after a question of a run over an account that had none."""
    await eventually(lambda: own_run_ended(running_service))
    account, dependencies = new_id(), running_service.service.dependencies
    await add(running_service, accounts, id=account, name=account)
    async with dependencies.engine.begin() as connection:
        writing = WrittenDuring(
            connection, write=lambda: write_three(running_service, account), after=after
        )
        await checkpoint(
            cast("AsyncConnection", writing), account, dependencies.keys.ring, now() - YEARS, now()
        )
    assert [action for _, action in await kept(running_service, account)] == ["a.b"] * 3


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
    running_service: RunningService, database_url: str, statement: str, reason: str
) -> None:
    account = await old_audit(running_service)
    await retain(running_service)
    await as_owner(database_url, statement)
    found = await verdict_of(running_service, account)
    assert not found.intact
    assert reason in found.reason


async def test_a_records_own_signature_is_no_checkpoint(
    running_service: RunningService, database_url: str
) -> None:
    account = await old_audit(running_service)
    await as_owner(database_url, _OWN_SIGNATURE, account)
    await as_owner(
        database_url, "DELETE FROM audit WHERE account_id = $1 AND sequence <= 3", account
    )
    assert "record 1 is missing" in (await verdict_of(running_service, account)).reason


async def test_an_audit_that_does_not_verify_is_kept_as_evidence(
    running_service: RunningService, database_url: str
) -> None:
    account = await old_audit(running_service)
    changed = "UPDATE audit SET actor = 'x' WHERE sequence = 2 AND account_id = $1"
    await as_owner(database_url, changed, account)
    await retain(running_service)
    assert len(await kept(running_service, account)) == 6
    assert await running_service.rows(audit_checkpoints) == []


@pytest.mark.parametrize("records", list(RecordClass))
async def test_the_services_role_removes_no_young_audit(
    running_service: RunningService, records: RecordClass
) -> None:
    """The function of the tables' owner refuses, whatever the service was made to ask for."""
    month = month_of(now() - 3 * MONTH).date()
    async with running_service.service.dependencies.engine.begin() as connection:
        await policy.add_month(connection, records, month)
        if records is not RecordClass.AUDIT:
            await policy.drop_month(connection, records, month)
            return
        with pytest.raises(DBAPIError, match="last 90 days stay"):
            await policy.drop_month(connection, records, month)


@pytest.mark.parametrize("statement", ["DELETE FROM audit_2026_01", "DELETE FROM audit_other"])
async def test_partitions_of_the_audit_are_append_only_too(
    running_service: RunningService, statement: str
) -> None:
    await make_month(running_service, RecordClass.AUDIT, datetime(2026, 1, 5, tzinfo=UTC))
    async with running_service.service.dependencies.engine.begin() as connection:
        with pytest.raises(DBAPIError, match="append-only"):
            await connection.execute(text(statement))


# --- one replica, and the planner ----------------------------------------------------------------


async def test_one_replica_at_a_time_carries_out_retention(running_service: RunningService) -> None:
    await retain(running_service)
    async with running_service.service.dependencies.engine.connect() as other:
        await other.execute(select(func.pg_advisory_lock(LOCK)))
        assert not await retention_job(running_service.service.dependencies).once()
        await other.execute(select(func.pg_advisory_unlock(LOCK)))
    await retain(running_service)


async def plan_of(running_service: RunningService, query: Select[Any]) -> list[str]:
    """The lines of EXPLAIN."""
    engine = running_service.service.dependencies.engine
    plain = query.compile(dialect=engine.dialect, compile_kwargs={"literal_binds": True})
    async with engine.connect() as connection:
        return list((await connection.execute(text(f"EXPLAIN {plain}"))).scalars())


async def test_a_timeline_with_a_begin_looks_at_its_months_only(
    running_service: RunningService,
) -> None:
    for months in range(1, 12):
        await make_month(running_service, RecordClass.FACTS, now() - months * MONTH)
    since = now() - timedelta(hours=1)
    query = select(facts.c.id).where(facts.c.time >= since, facts.c.time < now())
    order = query.order_by(facts.c.time.desc(), facts.c.id.desc()).limit(100)
    lines = await plan_of(running_service, order)
    seen = {found for line in lines for found in re.findall(r"facts_(?:\d{4}_\d{2}|other)", line)}
    assert f"facts_{month_of(now()):%Y_%m}" in seen
    assert len(seen) <= 2, seen


async def test_the_next_page_looks_at_no_newer_month(running_service: RunningService) -> None:
    order = PageOrder(columns=(facts.c.time, facts.c.id), descending=True)
    old = now() - 6 * MONTH
    for months in range(1, 12):
        await make_month(running_service, RecordClass.FACTS, now() - months * MONTH)
    query = select(facts.c.id).where(order.after((old, 7))).order_by(*order.terms())
    lines = await plan_of(running_service, query)
    assert not any(f"facts_{month_of(now()):%Y_%m}" in line for line in lines), lines
    assert any(f"facts_{month_of(old):%Y_%m}" in line for line in lines)
