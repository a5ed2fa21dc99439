"""The audit for readers: its pages, its export as JSON lines, and the proof of its chain."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from aiohttp import web
from sqlalchemy import func, select

from service.access.permissions import Permission
from service.audit.verification import lines, verify
from service.http import crud
from service.http.call import ENGINE, KEYS, ApiCall
from service.http.endpoint import Endpoint, NoInput, RequestModel, ResponseModel
from service.http.fields import Text, text_of
from service.http.pages import Page, PagedList, PageOrder, PageQuery, read_page
from service.http.problem import HEADERS
from service.http.stream_access import STREAM_ACCESS
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


class ExportQuery(RequestModel, frozen=True, kw_only=True):
    after: Annotated[int, msgspec.Meta(ge=0, le=2**62)] = 0
    """The last sequence one has already."""


class AuditRecord(ResponseModel, frozen=True, kw_only=True):
    sequence: int
    id: str
    time: str
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


class AuditVerification(ResponseModel, frozen=True, kw_only=True):
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


class ListedAuditRow(msgspec.Struct, frozen=True, kw_only=True):
    sequence: int
    id: str
    time: datetime
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


async def list_audit(call: ApiCall, params: AuditQuery) -> Page[AuditRecord]:
    """List the records of the audit, the newest first.

    The audit belongs to the account, so this needs audit_view in the whole account.
    """
    crud.require_account(call, VIEW, "audit")
    query = select(audit).where(audit.c.account_id == call.account)
    for text, column in (
        (params.actor, audit.c.actor),
        (params.action, audit.c.action),
        (params.decision, audit.c.decision),
    ):
        if text:
            query = query.where(column == text)
    if params.resource:
        query = query.where(func.strpos(audit.c.resource, params.resource) > 0)
    if params.since:
        query = query.where(audit.c.time >= params.since)
    if params.until:
        query = query.where(audit.c.time < params.until)
    paged = PagedList(
        name=f"{call.account}/audit",
        order=PageOrder(columns=(audit.c.sequence,), descending=True),
        into=ListedAuditRow,
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(_record)


async def export_audit(call: ApiCall, params: ExportQuery) -> web.StreamResponse:
    """Export the audit as lines of JSON, in the order of the chain.

    The copy is complete, so that its chain can be verified anywhere.
    """
    crud.require_account(call, VIEW, "audit")
    await call.audit("audit.exported", "audit", detail={"after": params.after})
    await call.release()
    response = web.StreamResponse(headers={**HEADERS, "Content-Type": "application/jsonl"})
    await response.prepare(call.request)

    async def write() -> None:
        async for block in lines(call.use(ENGINE), call.account, params.after):
            await response.write(block)
        await response.write_eof()

    if (
        await call.use(STREAM_ACCESS).while_allowed(call, _may_export, write)
        and call.request.transport is not None
    ):
        call.request.transport.abort()  # a copy that is cut must not look whole
    return response


async def _may_export(call: ApiCall) -> None:
    crud.require_account(call, VIEW, "audit")


async def verify_audit(call: ApiCall, _params: NoInput) -> AuditVerification:
    """Verify the chain of the audit, its signatures and the anchors of agents."""
    crud.require_account(call, VIEW, "audit")
    found = await verify(call.connection, call.account, call.use(KEYS).ring)
    return AuditVerification(
        ok=found.intact,
        entries=found.records,
        head=found.head,
        signed=found.signed,
        anchors=found.anchors,
        trimmed=found.trimmed,
        broken_at=found.broken_at or None,
        reason=found.reason,
    )


def _record(row: ListedAuditRow) -> AuditRecord:
    names = [name for name in AuditRecord.__struct_fields__ if name != "time"]
    plain = {name: getattr(row, name) for name in names}
    return AuditRecord(**plain, time=text_of(row.time))


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
    Endpoint(
        method="GET",
        path="/audit/verify",
        needs=VIEW,
        handler=verify_audit,
        gives=AuditVerification,
    ),
)
