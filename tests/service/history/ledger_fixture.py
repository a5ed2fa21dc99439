"""A ledger in a real database: batches of facts are stored and followed as the projection does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Table, insert, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncEngine

from bus.identity import new_id
from service.history.batch_follower import follow_batch
from service.history.recorded_facts import RecordedFact
from service.projection.batch import Batch, BatchScope, ReportedState
from service.store.changes import FeedChange
from service.store.database import open_engine
from service.store.tables import accounts, agents, facts
from tests.service.history.recorded_fact_samples import START, row


@dataclass
class LedgerFixture:
    engine: AsyncEngine
    scope: BatchScope

    async def record(
        self, *recorded: RecordedFact, states: Sequence[ReportedState] = ()
    ) -> Sequence[FeedChange]:
        """One batch."""
        batch = Batch(facts=tuple(map(row, recorded)), states=tuple(states))
        async with self.engine.begin() as connection:
            for one in batch.facts:
                values = {"agent_id": self.scope.agent_id, **msgspec.structs.asdict(one)}
                await connection.execute(upsert(facts).values(values).on_conflict_do_nothing())
            return await follow_batch(connection, self.scope, batch, START)

    async def rows(self, table: Table, order: str = "id") -> list[Any]:
        async with self.engine.connect() as connection:
            query = select(table).order_by(table.c[order])
            mine = "agent_id" if "agent_id" in table.c else "account_id"
            query = query.where(table.c[mine] == getattr(self.scope, mine))
            return list((await connection.execute(query)).all())


@asynccontextmanager
async def open_ledger_fixture(database_url: str) -> AsyncIterator[LedgerFixture]:
    """A new account with one agent."""
    account, agent = new_id(), new_id()
    async with open_engine(database_url, 4) as engine:
        async with engine.begin() as connection:
            await connection.execute(insert(accounts).values(id=account, name=account))
            values = {"id": agent, "account_id": account, "name": "prod"}
            await connection.execute(insert(agents).values(values))
        scope = BatchScope(
            account_id=account,
            agent_id=agent,
            agent="prod",
            environment="dev",
            region="eu",
            epoch=new_id(),
        )
        yield LedgerFixture(engine, scope)
