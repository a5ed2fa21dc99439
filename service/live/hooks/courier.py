"""Carries deliveries out: a lane per webhook, so one slow receiver delays nobody else.

A lane claims one delivery at a time, sends it, writes what came of it, and ends when nothing is
due. The claim is a lease in `next_at`: what a dead replica held is tried again. Replicas share the
work by locks that are skipped. Deliveries are at least once and in no promised order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec
import structlog
from sqlalchemy import RowMapping, delete, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine

from service.keys.columns import unsealed
from service.keys.key_file import KeyFile
from service.keys.root_key import SealedValueError
from service.live.hooks.backoff import next_try
from service.live.hooks.gather import DEAD, DELIVERED, WAITING, gather
from service.live.hooks.signing import signed
from service.live.reading import Places
from service.outgoing import AddressPolicy, OutgoingAnswer, OutgoingClient, open_client
from service.store.changes import CHANNEL
from service.store.signals import Signals
from service.store.tables import deliveries, webhooks

log = structlog.get_logger()

_LEASE = timedelta(seconds=60)
_LANES = 100
_KEPT = {DELIVERED: timedelta(days=1), DEAD: timedelta(days=14)}


@dataclass(slots=True, kw_only=True)
class Courier:
    """`pause`: seconds between looks where nothing is heard."""

    engine: AsyncEngine
    signals: Signals
    clock: Callable[[], datetime]
    policy: AddressPolicy
    keys: KeyFile
    pause: float = 2.0
    _heard: asyncio.Event = field(default_factory=asyncio.Event)
    _lanes: set[str] = field(default_factory=set)
    _places: Places = field(default_factory=Places)

    async def run(self) -> None:
        """Until cancelled."""
        with self.signals.hearing(CHANNEL, lambda _: self._heard.set()):
            async with open_client(self.policy) as client, asyncio.TaskGroup() as group:
                while True:
                    await self._round(group, client)
                    await self._pause()

    async def _round(self, group: asyncio.TaskGroup, client: OutgoingClient) -> None:
        try:
            if await gather(self.engine, self._places, self.clock()):
                self._heard.set()
            for hook in await self._due():
                self._lanes.add(hook)
                group.create_task(self._lane(hook, client), name=f"webhook {hook}")
            await self._forget()
        except (DBAPIError, PoolTimeoutError, OSError) as e:
            log.warning("webhooks wait for the database", error=type(e).__name__)

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(self.pause):
                await self._heard.wait()
        except TimeoutError:
            return
        finally:
            self._heard.clear()

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

    async def _claim(self, hook: str) -> RowMapping | None:
        """Also counts the try: a replica that dies in it must not try for ever."""
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
            claimed: RowMapping | None = (await connection.execute(taken)).mappings().one_or_none()
        return claimed

    async def _send(self, claimed: RowMapping, client: OutgoingClient) -> OutgoingAnswer:
        place = {**claimed, "id": claimed["webhook_id"]}
        hook = unsealed(self.keys.ring, webhooks, place)
        seconds = int(self.clock().timestamp())
        type_ = str(claimed["body"].get("type", ""))
        body = msgspec.json.encode(claimed["body"])
        what = signed(hook["secret"], claimed["id"], type_, body, seconds)
        return await client.post(hook["url"], what.body, what.headers)

    async def _write(self, claimed: RowMapping, answered: OutgoingAnswer) -> None:
        again = None if answered.delivered else next_try(claimed["attempts"], self.clock())
        state = DELIVERED if answered.delivered else WAITING if again else DEAD
        if state == DEAD:
            log.warning("a delivery is given up", webhook=claimed["webhook_id"], id=claimed["id"])
        values = {"state": state, "answer": answered.words[:500], "next_at": again}
        async with self.engine.begin() as connection:
            mine = deliveries.c.id == claimed["id"]
            await connection.execute(update(deliveries).where(mine).values(values))

    async def _forget(self) -> None:
        for state, kept in _KEPT.items():
            old = deliveries.c.created_at < self.clock() - kept
            async with self.engine.begin() as connection:
                await connection.execute(delete(deliveries).where(deliveries.c.state == state, old))
