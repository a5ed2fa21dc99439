"""Deliveries of webhooks: made from the change feed, signed, and tried again on a schedule.

Each webhook has a cursor of its own in the feed. One transaction moves the cursor and inserts the
deliveries, so each change becomes one delivery on whichever replica. A webhook with too many
waiting deliveries pauses; the feed is kept for a day.

`X-GitOps-Signature: t=<unix seconds>,v1=<hex>` where hex is HMAC-SHA256, keyed with the webhook's
secret, over `<t>.<body>`. A receiver refuses old times; retries of a delivery carry the same id.
Waits grow over a day, because a receiver may be away over a night; then a person looks at the dead
deliveries. A span leaves out the URL, which may hold a secret.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.identity import derived_id
from bus.spans import FinishedSpan, SpanType
from bus.trace import Trace
from service.keys.key_file import KeyRing
from service.live.change_event import ChangeEvent, EventFilters, payload, permission_of
from service.live.feed_reader import PAGE, AgentScopes, events_after, is_kept
from service.outgoing import OutgoingAnswer
from service.store.protected_columns import unsealed
from service.store.rows import decoded, find_row
from service.store.tables import deliveries, webhooks

SIGNATURE = "X-GitOps-Signature"
DELIVERY = "X-GitOps-Delivery"
EVENT = "X-GitOps-Event"
_MINUTE = 60
_FIRST = (10, 30, 2 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE)
WAITS = (*_FIRST, *(60 * _MINUTE,) * 3, *(360 * _MINUTE,) * 3)
"""Seconds after each failed try."""
MOST_WAITING = 10_000
WAITING, DELIVERED, DEAD = "waiting", "delivered", "dead"


class WebhookReceiver(msgspec.Struct, frozen=True, kw_only=True):
    """Where deliveries go, and what signs them, in clear."""

    url: str
    secret: str


class ClaimedDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """URL and secret are encrypted with the key `key_id`."""

    id: str
    webhook_id: str
    attempts: int
    body: dict[str, Any]
    url: str
    secret: str
    key_id: str

    @property
    def event_type(self) -> str:
        return str(self.body.get("type", ""))

    def receiver(self, ring: KeyRing) -> WebhookReceiver:
        """Decrypt the receiver; raises SealedValueError."""
        stored = {
            "id": self.webhook_id,
            "url": self.url,
            "secret": self.secret,
            "key_id": self.key_id,
        }
        return decoded(unsealed(ring, webhooks, stored), WebhookReceiver)


class Signed(msgspec.Struct, frozen=True, kw_only=True):
    body: bytes
    headers: dict[str, str]


def signed(secret: str, delivery: str, type_: str, body: bytes, seconds: int) -> Signed:
    return Signed(
        body=body,
        headers={
            "Content-Type": "application/json",
            "User-Agent": "gitops-webhook/1",
            SIGNATURE: f"t={seconds},v1={signature(secret, body, seconds)}",
            DELIVERY: delivery,
            EVENT: type_,
        },
    )


def signature(secret: str, body: bytes, seconds: int) -> str:
    return hmac.new(secret.encode(), b"%d." % seconds + body, hashlib.sha256).hexdigest()


def next_try(attempts: int, now: datetime) -> datetime | None:
    """Schedule the try after so many; None: the delivery is dead."""
    if attempts > len(WAITS):
        return None
    return now + timedelta(seconds=WAITS[attempts - 1])


def delivery_span(
    claimed: ClaimedDelivery, answered: OutgoingAnswer, trace: Trace, times: tuple[float, float]
) -> FinishedSpan:
    """`times`: begin and end, in seconds since the epoch."""
    began, ended = times
    return FinishedSpan(
        name="webhook delivery",
        type=SpanType.CLIENT,
        trace=trace,
        started=began,
        seconds=ended - began,
        attributes={
            "gitops.webhook": claimed.webhook_id,
            "gitops.delivery": claimed.id,
            "gitops.delivery.attempt": claimed.attempts,
            "gitops.event": claimed.event_type,
            "gitops.outcome": "delivered" if answered.delivered else "failed",
        },
        error="" if answered.delivered else answered.words,
    )


class SubscriptionRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    account_id: str
    cursor: int
    types: list[str]
    project: str


async def enqueue(engine: AsyncEngine, scopes: AgentScopes, now: datetime) -> int:
    """A page for each webhook; how many of them have more to come."""
    async with engine.connect() as connection:
        enabled = select(webhooks.c.id).where(webhooks.c.enabled).order_by(webhooks.c.id)
        ids = (await connection.execute(enabled)).scalars().all()
    more = 0
    for id_ in ids:
        async with engine.begin() as connection:
            more += await _enqueue(connection, id_, scopes, now)
    return more


async def _enqueue(
    connection: AsyncConnection, id_: str, scopes: AgentScopes, now: datetime
) -> bool:
    query = select(webhooks).where(webhooks.c.id == id_, webhooks.c.enabled)
    hook = await find_row(connection, query.with_for_update(skip_locked=True), SubscriptionRow)
    if hook is None or await _waiting(connection, id_) >= MOST_WAITING:
        return False
    account, cursor = hook.account_id, hook.cursor
    found = await events_after(connection, account, cursor, scopes, now)
    if not found:
        return False
    rows = [_row(hook, it, now) for it in _matching(hook, found)]
    # The feed was trimmed past the cursor: the receiver is told of the gap before what follows.
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


def _matching(hook: SubscriptionRow, found: Iterable[ChangeEvent]) -> list[ChangeEvent]:
    """Choose the events that the webhook filters for and some permission covers."""
    filters = EventFilters(types=frozenset(hook.types), project=hook.project)
    return [it for it in found if filters.match(it) and permission_of(it) is not None]


def _row(hook: SubscriptionRow, event: ChangeEvent, now: datetime) -> dict[str, Any]:
    body = {"id": event.id, **msgspec.json.decode(payload(event))}
    return _delivery(hook, event.id, body, now)


def _gap(hook: SubscriptionRow, first: ChangeEvent, now: datetime) -> dict[str, Any]:
    """What lies between the cursor and the oldest change that is kept was never delivered."""
    body = {"id": first.id, "type": "gap", "body": {"after": hook.cursor}}
    return _delivery(hook, first.id, body, now)


def _delivery(
    hook: SubscriptionRow, change: int, body: dict[str, Any], now: datetime
) -> dict[str, Any]:
    return {
        "id": derived_id(f"delivery {hook.id} {change} {body['type']}"),
        "webhook_id": hook.id,
        "change_id": change,
        "state": WAITING,
        "body": body,
        "next_at": now,
        "created_at": now,
    }
