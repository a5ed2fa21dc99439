"""Commands to applications: sync, refresh, terminate and rollback, for one or for many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bus.link import (
    ConfirmDeletionArguments,
    RefreshArguments,
    RollbackArguments,
    SyncArguments,
    TaskArguments,
    TaskPriority,
    TerminateArguments,
    kind_of,
)
from service.access.permissions import Permission
from service.access.visibility import visible_applications
from service.api.agent_tasks.task_requests import (
    TaskReceipt,
    TaskReceipts,
    TaskRequest,
    submit,
    submit_all,
)
from service.api.applications import applications as apps
from service.api.applications.command_requests import (
    MOST_APPLICATIONS,
    BulkFilter,
    BulkRefreshRequest,
    BulkRequest,
    BulkSyncRequest,
    RefreshRequest,
    RollbackRequest,
    SyncRequest,
)
from service.api.applications.filters import ORDERS, ApplicationSort, filters_of
from service.api.applications.summaries import ApplicationRow, selected
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput, RequestModel
from service.http.pages import PagedList, read_page
from service.http.problem import invalid

SYNC = Permission.APPLICATION_SYNC
OVERRIDE = Permission.APPLICATION_OVERRIDE
OVERRIDE_WINDOW = Permission.APPLICATION_OVERRIDE_WINDOW
DELETE = Permission.APPLICATION_DELETE
_WEAKENING = frozenset({"Replace=true", "Force=true", "Validate=false"})

ArgumentsOf = Callable[[apps.ScopedApplication], TaskArguments]
"""What is asked of the agent about one application."""


async def sync(call: ApiCall, params: SyncRequest) -> TaskReceipt:
    """Sync an application: make its live state equal its desired state."""
    (app,) = await apps.find_all(call, (call.id,), SYNC)
    return await _ordered(call, app.row, _sync_arguments(call, app, params))


async def refresh(call: ApiCall, params: RefreshRequest) -> TaskReceipt:
    """Refresh an application: look at its source again."""
    row = await apps.find(call, call.id, SYNC)
    return await _ordered(call, row, RefreshArguments(hard=params.hard))


async def terminate(call: ApiCall, _params: NoInput) -> TaskReceipt:
    """Terminate the running operation of an application."""
    row = await apps.find(call, call.id, SYNC)
    return await _ordered(call, row, TerminateArguments())


async def rollback(call: ApiCall, params: RollbackRequest) -> TaskReceipt:
    """Roll an application back to an entry of its deployment history."""
    row = await apps.find(call, call.id, SYNC)
    _check_known(params.history_id, await apps.body_of(call, row), row.subject)
    arguments = RollbackArguments(history_id=params.history_id, prune=params.prune)
    return await _ordered(call, row, arguments)


async def confirm_deletion(call: ApiCall, _params: NoInput) -> TaskReceipt:
    """Approve the deletions of an application that wait for a person."""
    row = await apps.find(call, call.id, DELETE)
    return await _ordered(call, row, ConfirmDeletionArguments())


async def bulk_sync(call: ApiCall, params: BulkSyncRequest) -> TaskReceipts:
    """Sync many applications, each by a task of low priority."""
    options = SyncRequest(prune=params.prune, dry_run=params.dry_run, options=params.options)

    def arguments(app: apps.ScopedApplication) -> TaskArguments:
        return _sync_arguments(call, app, options)

    return await _all(call, params, arguments)


async def bulk_refresh(call: ApiCall, params: BulkRefreshRequest) -> TaskReceipts:
    """Refresh many applications, each by a task of low priority."""

    def arguments(_app: apps.ScopedApplication) -> TaskArguments:
        return RefreshArguments(hard=params.hard)

    return await _all(call, params, arguments)


def _sync_arguments(
    call: ApiCall, app: apps.ScopedApplication, params: SyncRequest
) -> SyncArguments:
    """Make a sync's arguments, with `override` where the caller may exceed the Application.

    Whether the target reaches a commit, and which options weaken the Application's own, is known
    to the agent only; what weakens in any case is refused here.
    """
    if _WEAKENING & {word.strip() for word in params.options}:
        call.require(OVERRIDE, app.scope, f"application {app.row.subject}")
    if params.override_window:
        call.require(OVERRIDE_WINDOW, app.scope, f"application {app.row.subject}")
    _check_reason(params)
    arguments = msgspec.convert(params, SyncArguments, from_attributes=True)
    return msgspec.structs.replace(arguments, override=call.may(OVERRIDE, app.scope))


def _check_reason(params: SyncRequest) -> None:
    """Refuse an override without a reason, and a reason that would be told to nobody."""
    if params.override_window and not params.reason.strip():
        text = "an override of a closed sync window needs a reason, which the audit keeps"
        raise invalid("reason", text, rule="required")
    if params.reason and not params.override_window:
        text = "a reason belongs to an override: expected overrideWindow with it"
        raise invalid("overrideWindow", text, rule="required")


def _check_known(history_id: int, body: Mapping[str, Any], name: str) -> None:
    """Raise ProblemError where the known history has no such entry."""
    status = body.get("status")
    found = status.get("history") if isinstance(status, Mapping) else None
    known = [it.get("id", 0) for it in found or () if isinstance(it, Mapping)]
    if history_id in known:
        return
    there = f"there are {', '.join(map(str, known))}" if known else "nothing was deployed yet"
    raise invalid("historyId", f"{name} has no history entry {history_id}; {there}", rule="known")


async def _ordered(call: ApiCall, row: ApplicationRow, arguments: TaskArguments) -> TaskReceipt:
    return TaskReceipt(task=await submit(call, task_request_for(row, arguments)))


def task_request_for(row: ApplicationRow, arguments: TaskArguments) -> TaskRequest:
    """Ask the agent of an application for a task about that application."""
    return TaskRequest(
        agent_id=row.agent_id,
        subject=row.subject,
        project=row.project,
        arguments=arguments,
        action=f"application.{kind_of(type(arguments))}",
    )


async def _all(call: ApiCall, params: BulkRequest, arguments: ArgumentsOf) -> TaskReceipts:
    """Submit all tasks or none: one application that may not be synced refuses the request."""
    if (params.ids is None) == (params.filter is None):
        raise invalid("ids", "expected either ids or filter", rule="one-of")
    ids = params.ids if params.ids is not None else await _filtered(call, params.filter)
    orders: dict[str, TaskRequest] = {}
    for app in await apps.find_all(call, ids, SYNC):
        order = task_request_for(app.row, arguments(app))
        orders[app.row.id] = msgspec.structs.replace(order, priority=TaskPriority.BULK)
    return TaskReceipts(tasks=list(await submit_all(call, orders)))


async def _filtered(call: ApiCall, params: BulkFilter | None) -> tuple[str, ...]:
    params = msgspec.structs.replace(params or BulkFilter(), limit=MOST_APPLICATIONS, cursor="")
    query = selected().where(visible_applications(call.caller, SYNC), *filters_of(params))
    order = ORDERS[ApplicationSort.NAME]
    paged = PagedList(name="bulk", order=order, into=ApplicationRow)
    found = await read_page(call.connection, query, params, paged)
    if found.next is not None:
        raise invalid("filter", f"more than {MOST_APPLICATIONS} applications match", rule="size")
    return tuple(row.id for row in found.rows)


def _post(
    path: str,
    handler: Any,
    takes: type[RequestModel],
    gives: Any = TaskReceipt,
    needs: Permission = SYNC,
) -> Endpoint:
    return Endpoint(
        method="POST",
        path=f"/applications/{path}",
        needs=needs,
        handler=handler,
        takes=takes,
        gives=gives,
        status=202,
    )


ENDPOINTS = (
    _post("bulk/sync", bulk_sync, BulkSyncRequest, TaskReceipts),
    _post("bulk/refresh", bulk_refresh, BulkRefreshRequest, TaskReceipts),
    _post("{id}/sync", sync, SyncRequest),
    _post("{id}/refresh", refresh, RefreshRequest),
    _post("{id}/terminate", terminate, NoInput),
    _post("{id}/rollback", rollback, RollbackRequest),
    _post("{id}/confirm-deletion", confirm_deletion, NoInput, needs=DELETE),
)
