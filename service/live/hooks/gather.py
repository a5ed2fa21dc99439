"""From the change feed to deliveries: each webhook has a cursor of its own.

One transaction moves the cursor and makes the deliveries, so each change becomes one, whichever
replica does it. A webhook with too many waiting does not go on; the feed is kept for a day.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import RowMapping, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.ids import derived_id
from service.live.event import Event, Filters, payload, permission_of
from service.live.reading import PAGE, Places, events_after, is_kept
from service.store.tables import deliveries, webhooks

MOST_WAITING = 10_000
WAITING, DELIVERED, DEAD = "waiting", "delivered", "dead"


async def gather(engine: AsyncEngine, places: Places, now: datetime) -> int:
    """A page for each webhook; how many of them have more to come."""
    async with engine.connect() as connection:
        wanted = select(webhooks.c.id).where(webhooks.c.enabled).order_by(webhooks.c.id)
        ids = (await connection.execute(wanted)).scalars().all()
    more = 0
    for id_ in ids:
        async with engine.begin() as connection:
            more += await _gather(connection, id_, places, now)
    return more


async def _gather(connection: AsyncConnection, id_: str, places: Places, now: datetime) -> bool:
    query = select(webhooks).where(webhooks.c.id == id_, webhooks.c.enabled)
    locked = await connection.execute(query.with_for_update(skip_locked=True))
    hook = locked.mappings().one_or_none()
    if hook is None or await _waiting(connection, id_) >= MOST_WAITING:
        return False
    account, cursor = hook["account_id"], hook["cursor"]
    found = await events_after(connection, account, cursor, places, now)
    if not found:
        return False
    rows = [_row(hook, it, now) for it in _wanted(hook, found)]
    if not await is_kept(connection, account, cursor):
        rows.insert(0, _gap(hook, found[0], now))
    if rows:
        await connection.execute(insert(deliveries).on_conflict_do_nothing(), rows)
    moved = update(webhooks).where(webhooks.c.id == id_).values(cursor=found[-1].id)
    await connection.execute(moved)
    return len(found) == PAGE


async def _waiting(connection: AsyncConnection, id_: str) -> int:
    query = select(func.count()).where(
        deliveries.c.webhook_id == id_, deliveries.c.state == WAITING
    )
    return int(await connection.scalar(query) or 0)


def _wanted(hook: RowMapping, found: Iterable[Event]) -> list[Event]:
    """What no permission covers is for nobody, neither for a webhook."""
    filters = Filters(types=frozenset(hook["types"]), project=hook["project"])
    return [it for it in found if filters.match(it) and permission_of(it) is not None]


def _row(hook: RowMapping, event: Event, now: datetime) -> dict[str, Any]:
    body = {"id": event.id, **msgspec.json.decode(payload(event))}
    return _delivery(hook, event.id, body, now)


def _gap(hook: RowMapping, first: Event, now: datetime) -> dict[str, Any]:
    """What lies between the cursor and the oldest change that is kept was never delivered."""
    body = {"id": first.id, "type": "gap", "body": {"after": hook["cursor"]}}
    return _delivery(hook, first.id, body, now)


def _delivery(hook: RowMapping, change: int, body: dict[str, Any], now: datetime) -> dict[str, Any]:
    return {
        "id": derived_id(f"delivery {hook['id']} {change} {body['type']}"),
        "webhook_id": hook["id"],
        "change_id": change,
        "state": WAITING,
        "body": body,
        "next_at": now,
        "created_at": now,
    }
