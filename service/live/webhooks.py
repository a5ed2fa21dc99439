"""Customers' webhooks: setting one up, what was delivered, and a try by hand for what was not."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from sqlalchemy import RowMapping, delete, select, update

from bus.ids import new_id
from service.access.permissions import Permission
from service.api import rows, versions
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing
from service.api.fields import Short, Title, Version, text_of
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.problem import invalid, not_found
from service.auth.secrets import new_secret
from service.keys.columns import ENCRYPTED, sealed, unsealed
from service.live.reading import newest
from service.outgoing import InvalidTargetError, parse_target
from service.store.tables import deliveries, webhooks

EDIT = Permission.SETTINGS_EDIT
_SECRET = "whsec_"  # noqa: S105  a prefix by which a leaked one is recognised

Target = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]
Type = Annotated[str, msgspec.Meta(pattern=r"^[a-z]+(\.[a-z]+)?$", max_length=80)]
Types = Annotated[list[Type], msgspec.Meta(max_length=50)]


class NewWebhook(Given, frozen=True, kw_only=True):
    """`types`: as of GET /events, `drift` or `drift.began`; empty: all. It begins now."""

    name: Title
    url: Target
    types: Types = []
    project: Short = ""
    enabled: bool = True


class WebhookChange(Given, frozen=True, kw_only=True):
    name: Title | msgspec.UnsetType = msgspec.UNSET
    url: Target | msgspec.UnsetType = msgspec.UNSET
    types: Types | msgspec.UnsetType = msgspec.UNSET
    project: Short | msgspec.UnsetType = msgspec.UNSET
    enabled: bool | msgspec.UnsetType = msgspec.UNSET
    version: Version | None = None


class Webhook(Answer, frozen=True, kw_only=True):
    """`cursor`: the id of the last event that was looked at for it."""

    id: str
    name: str
    url: str
    types: list[str]
    project: str
    enabled: bool
    cursor: str
    version: int
    created_at: str | None


class MadeWebhook(Webhook, frozen=True, kw_only=True):
    """The secret that deliveries are signed with, shown this once."""

    secret: str


class DeliveryState(StrEnum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"


class DeliveriesQuery(PageQuery, frozen=True, kw_only=True):
    state: DeliveryState | None = None


class Delivery(Answer, frozen=True, kw_only=True):
    """`answer`: the last status, or why there was none; `body`: what the receiver was sent."""

    id: str
    state: DeliveryState
    type: str
    attempts: int
    answer: str
    next_at: str | None
    created_at: str | None
    body: dict[str, Any]


async def list_webhooks(call: Call, given: PageQuery) -> Page[Webhook]:
    """All of the account."""
    rows.require_account(call, EDIT, "webhooks")
    query = select(webhooks).where(webhooks.c.account_id == call.account)
    order = Order(columns=(webhooks.c.name, webhooks.c.id))
    found = await rows_of(call.connection, query, order, given, f"{call.account}/webhooks")
    return Page(items=[_webhook(_clear(call, row)) for row in found.rows], next=found.next)


async def get_webhook(call: Call, _given: Nothing) -> Webhook:
    """One webhook, without its secret."""
    return _webhook(_clear(call, await _find(call)))


async def create_webhook(call: Call, given: NewWebhook) -> MadeWebhook:
    """Tell a receiver of what changes from now on."""
    rows.require_account(call, EDIT, f"webhook {given.name}")
    secret = new_secret(_SECRET)
    values = {**msgspec.structs.asdict(given), "url": _target(call, given.url), "secret": secret}
    cursor = await newest(call.connection, call.account)
    values |= {"id": new_id(), "cursor": cursor}
    stored = sealed(call.tools.parts.keys.ring, webhooks, values)
    row = _clear(call, await rows.add(call, webhooks, **stored))
    await call.audit("webhook.created", f"webhook/{given.name}", detail=_detail(row))
    plain = _webhook(row)
    return MadeWebhook(
        **{name: getattr(plain, name) for name in plain.__struct_fields__}, secret=secret
    )


async def change_webhook(call: Call, given: WebhookChange) -> Webhook:
    """Change where it goes and what it is told; its secret and its cursor stay."""
    rows.require_account(call, EDIT, f"webhook {call.id}")
    row = await versions.locked(call, webhooks, "webhook")
    fields = msgspec.structs.asdict(given)
    values = {k: v for k, v in fields.items() if k != "version" and v is not msgspec.UNSET}
    if "url" in values:
        values["url"] = _target(call, values["url"])
    stored = sealed(call.tools.parts.keys.ring, webhooks, {**_clear(call, row), **values})
    values = {name: stored[name] for name in (*values, *ENCRYPTED[webhooks], "key_id")}
    changed = await versions.change(call, webhooks, row, values, given.version)
    after = _clear(call, changed)
    await call.audit("webhook.changed", f"webhook/{row['name']}", detail=_detail(after))
    return _webhook(after)


async def delete_webhook(call: Call, _given: Nothing) -> None:
    """With all that waits for it."""
    row = await _find(call)
    await call.connection.execute(delete(webhooks).where(webhooks.c.id == row["id"]))
    await call.audit("webhook.deleted", f"webhook/{row['name']}")


async def list_deliveries(call: Call, given: DeliveriesQuery) -> Page[Delivery]:
    """The newest first; with `state=dead` those that were given up."""
    row = await _find(call)
    query = select(deliveries).where(deliveries.c.webhook_id == row["id"])
    if given.state is not None:
        query = query.where(deliveries.c.state == given.state)
    order = Order(columns=(deliveries.c.change_id, deliveries.c.id), descending=True)
    place = f"{call.account}/webhooks/{row['id']}"
    found = await rows_of(call.connection, query, order, given, place)
    return Page(items=[_delivery(it) for it in found.rows], next=found.next)


async def retry_delivery(call: Call, _given: Nothing) -> Delivery:
    """Try it again now, with all its tries before it."""
    row = await _find(call)
    number = call.request.match_info["delivery"]
    mine = (deliveries.c.id == number) & (deliveries.c.webhook_id == row["id"])
    values = {"state": DeliveryState.WAITING, "attempts": 0, "next_at": call.now}
    statement = update(deliveries).where(mine).values(values).returning(deliveries)
    found = (await call.connection.execute(statement)).mappings().one_or_none()
    if found is None:
        raise not_found(f"delivery {number}")
    await call.audit("webhook.retried", f"webhook/{row['name']}", detail={"delivery": number})
    return _delivery(found)


async def _find(call: Call) -> RowMapping:
    rows.require_account(call, EDIT, f"webhook {call.id}")
    return await rows.one(call, webhooks, call.id, "webhook")


def _target(call: Call, url: str) -> str:
    """The URL as it will be used: what the receiver's list shows is what is connected to."""
    try:
        return str(parse_target(url, call.tools.parts.settings.outgoing))
    except InvalidTargetError as e:
        remedy = "Use a public https address, or have the operator allow the network."
        raise invalid("url", str(e), rule="target", remedy=remedy) from e


def _clear(call: Call, row: RowMapping) -> dict[str, Any]:
    return unsealed(call.tools.parts.keys.ring, webhooks, row)


def _detail(row: Mapping[str, Any]) -> dict[str, Any]:
    """The host only: paths of chat services are credentials."""
    names = ("types", "project", "enabled")
    return {"host": urlsplit(row["url"]).hostname, **{name: row[name] for name in names}}


def _webhook(row: Mapping[str, Any]) -> Webhook:
    return Webhook(
        id=row["id"],
        name=row["name"],
        url=row["url"],
        types=list(row["types"]),
        project=row["project"],
        enabled=row["enabled"],
        cursor=str(row["cursor"]),
        version=row["version"],
        created_at=text_of(row["created_at"]),
    )


def _delivery(row: RowMapping) -> Delivery:
    return Delivery(
        id=row["id"],
        state=DeliveryState(row["state"]),
        type=str(row["body"].get("type", "")),
        attempts=row["attempts"],
        answer=row["answer"],
        next_at=text_of(row["next_at"]),
        created_at=text_of(row["created_at"]),
        body=row["body"],
    )


_ONE = "/webhooks/{id}"
ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/webhooks",
        needs=EDIT,
        handler=list_webhooks,
        takes=PageQuery,
        gives=Page[Webhook],
    ),
    Endpoint(
        method="POST",
        path="/webhooks",
        needs=EDIT,
        handler=create_webhook,
        takes=NewWebhook,
        gives=MadeWebhook,
        status=201,
    ),
    Endpoint(method="GET", path=_ONE, needs=EDIT, handler=get_webhook, gives=Webhook),
    Endpoint(
        method="PATCH",
        path=_ONE,
        needs=EDIT,
        handler=change_webhook,
        takes=WebhookChange,
        gives=Webhook,
    ),
    Endpoint(method="DELETE", path=_ONE, needs=EDIT, handler=delete_webhook, status=204),
    Endpoint(
        method="GET",
        path=f"{_ONE}/deliveries",
        needs=EDIT,
        handler=list_deliveries,
        takes=DeliveriesQuery,
        gives=Page[Delivery],
    ),
    Endpoint(
        method="POST",
        path=f"{_ONE}/deliveries/{{delivery}}/retry",
        needs=EDIT,
        handler=retry_delivery,
        gives=Delivery,
    ),
)
