"""The audit, read: a page of it, the whole as JSON lines, and the proof of its chain."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from aiohttp import web
from sqlalchemy import func, select

from service.access.permissions import Permission
from service.api import rows
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing
from service.api.fields import Text, text_of
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.serve import HEADERS
from service.api.stream_access import while_allowed
from service.audit.export import lines
from service.audit.verify import verify
from service.store.tables import audit

VIEW = Permission.AUDIT_VIEW
Time = Annotated[datetime, msgspec.Meta(tz=True)]


class AuditQuery(PageQuery, frozen=True, kw_only=True):
    actor: Text = ""
    action: Text = ""
    resource: Annotated[str, msgspec.Meta(max_length=700)] = ""
    decision: Text = ""
    since: Time | None = None
    until: Time | None = None


class ExportQuery(Given, frozen=True, kw_only=True):
    after: Annotated[int, msgspec.Meta(ge=0, le=2**62)] = 0
    """The last sequence one has already."""


class AuditRecord(Answer, frozen=True, kw_only=True):
    sequence: int
    id: str
    time: str | None
    actor: str
    address: str
    action: str
    resource: str
    project: str
    decision: str
    outcome: str
    source: str
    detail: dict[str, Any]
    hash: str


class Verified(Answer, frozen=True, kw_only=True):
    ok: bool
    entries: int
    """How many fit, from the first."""
    head: str
    signed: bool
    """The last record that fits is signed with a key outside the database."""
    anchors: int
    """How many heads that agents keep in their own clusters fit."""
    trimmed: int
    """How many of the first were removed by retention, as a signed checkpoint says."""
    broken_at: int | None
    reason: str


async def list_audit(call: Call, given: AuditQuery) -> Page[AuditRecord]:
    """The newest first. The book is the account's: it takes audit_view in the whole of it."""
    rows.require_account(call, VIEW, "audit")
    query = select(audit).where(audit.c.account_id == call.account)
    for text, column in (
        (given.actor, audit.c.actor),
        (given.action, audit.c.action),
        (given.decision, audit.c.decision),
    ):
        if text:
            query = query.where(column == text)
    if given.resource:
        query = query.where(func.strpos(audit.c.resource, given.resource) > 0)
    if given.since:
        query = query.where(audit.c.time >= given.since)
    if given.until:
        query = query.where(audit.c.time < given.until)
    order = Order(columns=(audit.c.sequence,), descending=True)
    found = await rows_of(call.connection, query, order, given, f"{call.account}/audit")
    return Page(items=[_record(row) for row in found.rows], next=found.next)


async def export_audit(call: Call, given: ExportQuery) -> web.StreamResponse:
    """Every record as a line of JSON, in the order of the chain: verify the copy anywhere."""
    rows.require_account(call, VIEW, "audit")
    await call.audit("audit.exported", "audit", detail={"after": given.after})
    await call.release()
    response = web.StreamResponse(headers={**HEADERS, "Content-Type": "application/jsonl"})
    await response.prepare(call.request)

    async def write() -> None:
        async for block in lines(call.tools.parts.engine, call.account, given.after):
            await response.write(block)
        await response.write_eof()

    if await while_allowed(call, _may_export, write) and call.request.transport is not None:
        call.request.transport.abort()  # a copy that is cut must not look whole
    return response


async def _may_export(call: Call) -> None:
    rows.require_account(call, VIEW, "audit")


async def verify_audit(call: Call, _given: Nothing) -> Verified:
    """Check the chain, its signatures and agents' anchors; name the first record that is wrong."""
    rows.require_account(call, VIEW, "audit")
    found = await verify(call.connection, call.account, call.tools.parts.keys.ring)
    return Verified(
        ok=found.intact,
        entries=found.records,
        head=found.head,
        signed=found.signed,
        anchors=found.anchors,
        trimmed=found.trimmed,
        broken_at=found.broken_at or None,
        reason=found.reason,
    )


def _record(row: Any) -> AuditRecord:
    plain = {name: row[name] for name in AuditRecord.__struct_fields__ if name != "time"}
    return AuditRecord(**plain, time=text_of(row["time"]))


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/audit",
        needs=VIEW,
        handler=list_audit,
        takes=AuditQuery,
        gives=Page[AuditRecord],
    ),
    Endpoint(
        method="GET",
        path="/audit/export",
        needs=VIEW,
        handler=export_audit,
        takes=ExportQuery,
        media="application/jsonl",
    ),
    Endpoint(method="GET", path="/audit/verify", needs=VIEW, handler=verify_audit, gives=Verified),
)
