"""The dispatcher of webhook deliveries: one lane per webhook, so no receiver delays another.

A lane claims one delivery at a time, sends it, stores the outcome, and ends when nothing is due.
The claim is a lease in `next_at`: a delivery of a dead replica is tried again. Replicas share the
work by locks that are skipped. Deliveries are at least once and in no promised order.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec
import structlog
from sqlalchemy import delete, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine

from bus.spans import Spans
from service.keys.key_file import KeyFile
from service.keys.root_key import SealedValueError
from service.live.feed_reader import AgentScopes
from service.live.webhook_deliveries import (
    DEAD,
    DELIVERED,
    WAITING,
    ClaimedDelivery,
    delivery_span,
    enqueue,
    next_try,
    signed,
)
from service.outgoing import AddressPolicy, OutgoingAnswer, OutgoingClient, open_client
from service.store.changes import CHANNEL
from service.store.rows import find_row
from service.store.signals import Signals
from service.store.tables import deliveries, webhooks

log = structlog.get_logger()

_LEASE = timedelta(seconds=60)
_LANES = 100
_KEPT = {DELIVERED: timedelta(days=1), DEAD: timedelta(days=14)}


@dataclass(slots=True, kw_only=True)
class WebhookDispatcher:
    """`pause`: seconds between looks where nothing is heard."""

    engine: AsyncEngine
    signals: Signals
    clock: Callable[[], datetime]
    policy: AddressPolicy
    keys: KeyFile
    spans: Spans = field(default_factory=Spans)
    pause: float = 2.0
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _lanes: set[str] = field(default_factory=set)
    _scopes: AgentScopes = field(default_factory=AgentScopes)

    async def run(self) -> None:
        """Dispatch deliveries until cancelled."""
        with self.signals.subscribed(CHANNEL, lambda _: self._woken.set()):
            async with open_client(self.policy) as client, asyncio.TaskGroup() as group:
                while True:
                    await self._round(group, client)
                    await self._pause()

    async def _round(self, group: asyncio.TaskGroup, client: OutgoingClient) -> None:
        try:
            if await enqueue(self.engine, self._scopes, self.clock()):
                self._woken.set()
            for hook in await self._due():
                self._lanes.add(hook)
                group.create_task(self._lane(hook, client), name=f"webhook {hook}")
            await self._forget()
        except (DBAPIError, PoolTimeoutError, OSError) as e:
            log.warning("webhooks wait for the database", error=type(e).__name__)

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(self.pause):
                await self._woken.wait()
        except TimeoutError:
            return
        finally:
            self._woken.clear()

    async def _due(self) -> list[str]:
        query = (
            select(deliveries.c.webhook_id)
            .distinct()
            .join(webhooks, webhooks.c.id == deliveries.c.webhook_id)
            .where(
                webhooks.c.enabled,
                deliveries.c.state == WAITING,
                deliveries.c.next_at <= self.clock(),
                deliveries.c.webhook_id.not_in(self._lanes),
            )
            .limit(max(0, _LANES - len(self._lanes)))
        )
        async with self.engine.connect() as connection:
            return list((await connection.execute(query)).scalars())

    async def _lane(self, hook: str, client: OutgoingClient) -> None:
        try:
            while (claimed := await self._claim(hook)) is not None:
                answered = await self._send(claimed, client)
                await self._write(claimed, answered)
        except (DBAPIError, PoolTimeoutError, OSError) as e:
            log.warning("a webhook waits for the database", error=type(e).__name__)
        except SealedValueError as e:
            log.warning("a webhook waits for its key", webhook=hook, reason=str(e))
        finally:
            self._lanes.discard(hook)

    async def _claim(self, hook: str) -> ClaimedDelivery | None:
        """Claim a delivery and count the try: a replica that dies in it must not try for ever."""
        due = (
            select(deliveries.c.id)
            .where(
                deliveries.c.webhook_id == hook,
                deliveries.c.state == WAITING,
                deliveries.c.next_at <= self.clock(),
            )
            .order_by(deliveries.c.next_at, deliveries.c.change_id)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        taken = (
            update(deliveries)
            .where(
                deliveries.c.id == due.scalar_subquery(),
                webhooks.c.id == deliveries.c.webhook_id,
                webhooks.c.enabled,
            )
            .values(attempts=deliveries.c.attempts + 1, next_at=self.clock() + _LEASE)
            .returning(deliveries, webhooks.c.url, webhooks.c.secret, webhooks.c.key_id)
        )
        async with self.engine.begin() as connection:
            return await find_row(connection, taken, ClaimedDelivery)

    async def _send(self, claimed: ClaimedDelivery, client: OutgoingClient) -> OutgoingAnswer:
        receiver = claimed.receiver(self.keys.ring)
        seconds = int(self.clock().timestamp())
        body = msgspec.json.encode(claimed.body)
        what = signed(receiver.secret, claimed.id, claimed.event_type, body, seconds)
        began = time.time()
        answered = await client.post(receiver.url, what.body, what.headers)
        times = (began, time.time())
        self.spans.record(delivery_span(claimed, answered, self.spans.sampler.span(None), times))
        return answered

    async def _write(self, claimed: ClaimedDelivery, answered: OutgoingAnswer) -> None:
        again = None if answered.delivered else next_try(claimed.attempts, self.clock())
        state = DELIVERED if answered.delivered else WAITING if again else DEAD
        if state == DEAD:
            log.warning("a delivery is given up", webhook=claimed.webhook_id, id=claimed.id)
        values = {"state": state, "answer": answered.words[:500], "next_at": again}
        async with self.engine.begin() as connection:
            mine = deliveries.c.id == claimed.id
            await connection.execute(update(deliveries).where(mine).values(values))

    async def _forget(self) -> None:
        for state, kept in _KEPT.items():
            old = deliveries.c.created_at < self.clock() - kept
            async with self.engine.begin() as connection:
                await connection.execute(delete(deliveries).where(deliveries.c.state == state, old))
