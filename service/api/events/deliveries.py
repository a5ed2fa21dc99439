"""Deliveries of a webhook: the list of what was sent, and a new try by hand."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import select, update

from service.access.permissions import Permission
from service.api.events.webhooks import find_webhook
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput, ResponseModel
from service.http.fields import text_of
from service.http.pages import Page, PagedList, PageOrder, PageQuery, read_page
from service.http.problem import not_found
from service.store.rows import find_row
from service.store.tables import deliveries

EDIT = Permission.SETTINGS_EDIT


class WebhookAttemptState(StrEnum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"


class WebhookAttemptsQuery(PageQuery, frozen=True, kw_only=True):
    state: WebhookAttemptState | None = None


class WebhookAttempt(ResponseModel, frozen=True, kw_only=True):
    """`answer`: the last status, or why there was none; `body`: what the receiver was sent."""

    id: str
    state: WebhookAttemptState
    type: str
    attempts: int
    answer: str
    next_at: str | None
    created_at: str
    body: dict[str, Any]


class DeliveryRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    state: str
    attempts: int
    answer: str
    next_at: datetime | None
    created_at: datetime
    body: dict[str, Any]


async def list_deliveries(call: ApiCall, params: WebhookAttemptsQuery) -> Page[WebhookAttempt]:
    """List the deliveries of a webhook, the newest first."""
    row = await find_webhook(call)
    query = select(deliveries).where(deliveries.c.webhook_id == row.id)
    if params.state is not None:
        query = query.where(deliveries.c.state == params.state)
    paged = PagedList(
        name=f"{call.account}/webhooks/{row.id}",
        order=PageOrder(columns=(deliveries.c.change_id, deliveries.c.id), descending=True),
        into=DeliveryRow,
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(_delivery)


async def retry_delivery(call: ApiCall, _params: NoInput) -> WebhookAttempt:
    """Retry a delivery now, with all of its attempts before it."""
    row = await find_webhook(call)
    number = call.request.match_info["delivery"]
    mine = (deliveries.c.id == number) & (deliveries.c.webhook_id == row.id)
    values = {"state": WebhookAttemptState.WAITING, "attempts": 0, "next_at": call.now}
    statement = update(deliveries).where(mine).values(values).returning(deliveries)
    found = await find_row(call.connection, statement, DeliveryRow)
    if found is None:
        raise not_found(f"delivery {number}")
    await call.audit("webhook.retried", f"webhook/{row.name}", detail={"delivery": number})
    return _delivery(found)


def _delivery(row: DeliveryRow) -> WebhookAttempt:
    return WebhookAttempt(
        id=row.id,
        state=WebhookAttemptState(row.state),
        type=str(row.body.get("type", "")),
        attempts=row.attempts,
        answer=row.answer,
        next_at=text_of(row.next_at),
        created_at=text_of(row.created_at),
        body=row.body,
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/webhooks/{id}/deliveries",
        needs=EDIT,
        handler=list_deliveries,
        takes=WebhookAttemptsQuery,
        gives=Page[WebhookAttempt],
    ),
    Endpoint(
        method="POST",
        path="/webhooks/{id}/deliveries/{delivery}/retry",
        needs=EDIT,
        handler=retry_delivery,
        gives=WebhookAttempt,
    ),
)
