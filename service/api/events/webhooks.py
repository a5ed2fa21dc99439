"""Webhooks of the account: their receivers, secrets and filters."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from aiohttp import web
from sqlalchemy import delete, select

from bus.identity import new_id
from service.access.permissions import Permission
from service.auth.credentials import new_secret
from service.http import crud, versioned
from service.http.call import KEYS, ApiCall
from service.http.crud import CrudHandlers, CrudNoun
from service.http.endpoint import NoInput, RequestModel, ResponseModel
from service.http.fields import Short, Title, Version, text_of
from service.http.pages import Page, PagedList, PageOrder, PageQuery, read_page
from service.http.problem import invalid
from service.live.feed_reader import newest
from service.outgoing import AddressPolicy, InvalidTargetError, parse_target
from service.store.protected_columns import ENCRYPTED, sealed, unsealed
from service.store.rows import decoded
from service.store.tables import webhooks

EDIT = Permission.SETTINGS_EDIT
OUTGOING_POLICY = web.AppKey("outgoing_policy", AddressPolicy)
"""Which addresses receivers may have."""
_SECRET = "whsec_"  # noqa: S105  a prefix by which a leaked one is recognised

Target = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]
Type = Annotated[str, msgspec.Meta(pattern=r"^[a-z]+(\.[a-z]+)?$", max_length=80)]
Types = Annotated[list[Type], msgspec.Meta(max_length=50)]


class NewWebhook(RequestModel, frozen=True, kw_only=True):
    """`types`: as of GET /events, `drift` or `drift.began`; empty: all. It begins now."""

    name: Title
    url: Target
    types: Types = []
    project: Short = ""
    enabled: bool = True


class WebhookChange(RequestModel, frozen=True, kw_only=True):
    name: Title | msgspec.UnsetType = msgspec.UNSET
    url: Target | msgspec.UnsetType = msgspec.UNSET
    types: Types | msgspec.UnsetType = msgspec.UNSET
    project: Short | msgspec.UnsetType = msgspec.UNSET
    enabled: bool | msgspec.UnsetType = msgspec.UNSET
    version: Version | None = None


class WebhookSubscription(ResponseModel, frozen=True, kw_only=True):
    """`cursor`: the id of the last event that was looked at for it."""

    id: str
    name: str
    url: str
    types: list[str]
    project: str
    enabled: bool
    cursor: str
    version: int
    created_at: str


class CreatedWebhook(WebhookSubscription, frozen=True, kw_only=True):
    """The secret that deliveries are signed with, shown this once."""

    secret: str


class WebhookRow(versioned.LockedRow, frozen=True, kw_only=True):
    """A webhook as it is stored: URL and secret are encrypted with the key `key_id`."""

    name: str
    url: str
    secret: str
    key_id: str
    types: list[str]
    project: str
    enabled: bool
    cursor: int
    created_at: datetime


async def list_webhooks(call: ApiCall, params: PageQuery) -> Page[WebhookSubscription]:
    """List the webhooks of the account."""
    crud.require_account(call, EDIT, "webhooks")
    query = select(webhooks).where(webhooks.c.account_id == call.account)
    paged = PagedList(
        name=f"{call.account}/webhooks",
        order=PageOrder(columns=(webhooks.c.name, webhooks.c.id)),
        into=WebhookRow,
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(lambda row: _webhook(_clear(call, row)))


async def get_webhook(call: ApiCall, _params: NoInput) -> WebhookSubscription:
    """Get one webhook, without its secret."""
    return _webhook(_clear(call, await find_webhook(call)))


async def create_webhook(call: ApiCall, params: NewWebhook) -> CreatedWebhook:
    """Create a webhook, which receives the changes from now on."""
    crud.require_account(call, EDIT, f"webhook {params.name}")
    secret = new_secret(_SECRET)
    values = {**msgspec.structs.asdict(params), "url": _target(call, params.url), "secret": secret}
    cursor = await newest(call.connection, call.account)
    values |= {"id": new_id(), "cursor": cursor}
    stored = sealed(call.use(KEYS).ring, webhooks, values)
    row = _clear(call, await crud.add(call, webhooks, WebhookRow, **stored))
    await call.audit("webhook.created", f"webhook/{params.name}", detail=_detail(row))
    plain = _webhook(row)
    return CreatedWebhook(
        **{name: getattr(plain, name) for name in plain.__struct_fields__}, secret=secret
    )


async def change_webhook(call: ApiCall, params: WebhookChange) -> WebhookSubscription:
    """Change a webhook; its secret and its cursor stay."""
    crud.require_account(call, EDIT, f"webhook {call.id}")
    row = await versioned.locked(call, webhooks, "webhook", WebhookRow)
    fields = msgspec.structs.asdict(params)
    values = {k: v for k, v in fields.items() if k != "version" and v is not msgspec.UNSET}
    if "url" in values:
        values["url"] = _target(call, values["url"])
    clear = msgspec.structs.asdict(_clear(call, row))
    stored = sealed(call.use(KEYS).ring, webhooks, {**clear, **values})
    values = {name: stored[name] for name in (*values, *ENCRYPTED[webhooks], "key_id")}
    changed = await versioned.change(call, webhooks, row, values, params.version)
    after = _clear(call, changed)
    await call.audit("webhook.changed", f"webhook/{row.name}", detail=_detail(after))
    return _webhook(after)


async def delete_webhook(call: ApiCall, _params: NoInput) -> None:
    """Delete a webhook with its waiting deliveries."""
    row = await find_webhook(call)
    await call.connection.execute(delete(webhooks).where(webhooks.c.id == row.id))
    await call.audit("webhook.deleted", f"webhook/{row.name}")


async def find_webhook(call: ApiCall) -> WebhookRow:
    """Read the webhook of the path's id; raises ProblemError 403 or 404."""
    crud.require_account(call, EDIT, f"webhook {call.id}")
    return await crud.one(call, webhooks, call.id, "webhook", WebhookRow)


def _target(call: ApiCall, url: str) -> str:
    """Parse the receiver's URL as it will be used: what a list shows is what is connected to."""
    try:
        return str(parse_target(url, call.use(OUTGOING_POLICY)))
    except InvalidTargetError as e:
        remedy = "Use a public https address, or have the operator allow the network."
        raise invalid("url", str(e), rule="target", remedy=remedy) from e


def _clear(call: ApiCall, row: WebhookRow) -> WebhookRow:
    """Decrypt URL and secret."""
    return decoded(unsealed(call.use(KEYS).ring, webhooks, msgspec.structs.asdict(row)), WebhookRow)


def _detail(row: WebhookRow) -> dict[str, Any]:
    """Describe a webhook for the audit by its host: paths of chat services are credentials."""
    names = ("types", "project", "enabled")
    return {"host": urlsplit(row.url).hostname, **{name: getattr(row, name) for name in names}}


def _webhook(row: WebhookRow) -> WebhookSubscription:
    return WebhookSubscription(
        id=row.id,
        name=row.name,
        url=row.url,
        types=list(row.types),
        project=row.project,
        enabled=row.enabled,
        cursor=str(row.cursor),
        version=row.version,
        created_at=text_of(row.created_at),
    )


ENDPOINTS = CrudNoun(
    path="/webhooks",
    view=EDIT,
    edit=EDIT,
    handlers=CrudHandlers(
        list=list_webhooks,
        get=get_webhook,
        create=create_webhook,
        change=change_webhook,
        delete=delete_webhook,
    ),
    gives=WebhookSubscription,
    new=NewWebhook,
    change=WebhookChange,
    created=CreatedWebhook,
).endpoints()
