"""The retention job: it makes coming partitions and drops old ones, hourly, on one replica.

An advisory lock of the whole run admits one replica; others do not wait for it. Each month is a
transaction of its own and waits for its table's lock for three seconds at most, so that no writer
is held up; what could not be done is done an hour later.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

import structlog
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from service.keys.key_file import KeyFile
from service.observe.metrics import ServiceMetrics
from service.retention.audit import checkpoint_all
from service.retention.policy import (
    RecordClass,
    RetentionPolicy,
    add_month,
    clear_rest,
    drop_month,
    months,
    months_to_drop,
    months_to_make,
)

log = structlog.get_logger()

EVERY_SECONDS = 3600.0
LOCK = 0x67740008


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionJob:
    engine: AsyncEngine
    keys: KeyFile
    policy: RetentionPolicy
    metrics: ServiceMetrics
    clock: Callable[[], datetime]

    async def run(self) -> None:
        """Carry out retention until cancelled."""
        while True:
            try:
                await self.once()
            except (SQLAlchemyError, OSError, TimeoutError) as e:
                self.metrics.retention_failures.inc()
                log.warning("retention failed, tried again in an hour", error=type(e).__name__)
            await asyncio.sleep(EVERY_SECONDS)

    async def once(self) -> bool:
        """Carry out retention once; False where another replica is at it."""
        async with self._turn() as mine:
            if not mine:
                return False
            now = self.clock()
            since = self.policy.kept_since(RecordClass.AUDIT, now)
            await checkpoint_all(self.engine, self.keys.ring, since, now)
            for records in RecordClass:
                await self._keep(records, now)
            self.metrics.retention_last.set(now.timestamp())
        return True

    async def _keep(self, records: RecordClass, now: datetime) -> None:
        for month in months_to_make(now):
            async with self.engine.begin() as connection:
                await add_month(connection, records, month)
        since = self.policy.kept_since(records, now)
        async with self.engine.connect() as connection:
            present = await months(connection, records)
        for month in months_to_drop(present, since):
            async with self.engine.begin() as connection:
                removed = await drop_month(connection, records, month)
            self._removed(records, removed)
            log.info("month dropped", table=records.value, month=str(month), rows=removed)
        async with self.engine.begin() as connection:
            removed = await clear_rest(connection, records, since)
        self._removed(records, removed)

    def _removed(self, records: RecordClass, count: int) -> None:
        self.metrics.retention_removed.labels(records.value).inc(count)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[bool]:
        async with self.engine.connect() as plain:
            connection = await plain.execution_options(isolation_level="AUTOCOMMIT")
            taken = await connection.scalar(text(f"SELECT pg_try_advisory_lock({LOCK})"))
            try:
                yield bool(taken)
            finally:
                if taken:
                    await connection.execute(text(f"SELECT pg_advisory_unlock({LOCK})"))
