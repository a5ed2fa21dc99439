"""Tasks: what agents were asked to do, and how each task ended."""

from __future__ import annotations

import msgspec
from sqlalchemy import ColumnElement, and_, exists, func, or_, select

from bus.link import TaskKind
from service.access.decision import ResourceScope
from service.access.permissions import Permission
from service.access.visibility import (
    agent_scope,
    application_scope,
    visible_agents,
    visible_applications,
    visible_tasks,
)
from service.api.agent_tasks.task_requests import TaskRow, TaskSummary, row_of, task_of
from service.api.agents.agents import AgentScopeRow
from service.api.applications import applications as apps
from service.api.applications.summaries import ApplicationRow, selected
from service.api.connections.nouns import NOUNS, REPOSITORIES, ConnectionNoun
from service.http.call import TASKS, ApiCall
from service.http.endpoint import Endpoint, NoInput, OpenAccess
from service.http.fields import Id, Text
from service.http.pages import Page, PagedList, PageOrder, PageQuery, read_page
from service.http.problem import DeniedError
from service.store.rows import find_row, read_row
from service.store.tables import agents, applications, tasks

_NEEDS = {
    TaskKind.PUT: Permission.APPLICATION_EDIT,
    TaskKind.DELETE: Permission.APPLICATION_DELETE,
}
_WRITES_OBJECTS = (TaskKind.PUT, TaskKind.DELETE)


class TasksQuery(PageQuery, frozen=True, kw_only=True):
    agent: Id = ""
    kind: Text = ""
    phase: Text = ""
    subject: str = ""
    actor: Text = ""


async def list_tasks(call: ApiCall, params: TasksQuery) -> Page[TaskSummary]:
    """List the tasks about what the caller may see, the newest first."""
    query = select(tasks).where(tasks.c.account_id == call.account, _visible(call))
    for text, column in (
        (params.agent, tasks.c.agent_id),
        (params.kind, tasks.c.kind),
        (params.phase, tasks.c.phase),
        (params.subject, tasks.c.subject),
        (params.actor, tasks.c.actor),
    ):
        if text:
            query = query.where(column.in_(text.split(",")))
    paged = PagedList(
        name=f"{call.account}/tasks",
        order=PageOrder(columns=(tasks.c.id,), descending=True),
        into=TaskRow,
    )
    found = await read_page(call.connection, query, params, paged)
    return found.page(lambda row: task_of(msgspec.structs.replace(row, result=None)))


async def get_task(call: ApiCall, _params: NoInput) -> TaskSummary:
    """Get one task with its result."""
    return task_of(await _find(call))


async def cancel_task(call: ApiCall, _params: NoInput) -> TaskSummary:
    """Cancel a task: at once while it is queued, else by asking the agent to end it."""
    row = await _find(call)
    await _require(call, row)
    locked = select(tasks.c.id).where(tasks.c.id == row.id).with_for_update()
    await call.connection.execute(locked)  # as the writer of results does, before the audit
    await call.turn()
    await call.use(TASKS).cancel(call.connection, row.id)
    await call.audit("task.cancel", f"task/{row.id}", project=row.project)
    return task_of(await row_of(call, row.id))


async def _find(call: ApiCall) -> TaskRow:
    row = await row_of(call, call.id)
    seen = select(tasks.c.id).where(tasks.c.id == row.id, _visible(call))
    if await call.connection.scalar(seen) is None:
        raise DeniedError(Permission.APPLICATION_VIEW, f"task {call.id}", status=404)
    return row


async def _require(call: ApiCall, row: TaskRow) -> None:
    """Require the permission to end a task: its owner's, or a sync's for reads of others."""
    agent = select(agents).where(agents.c.id == row.agent_id)
    scope = agent_scope(await read_row(call.connection, agent, AgentScopeRow))
    noun = _noun_of(row)
    if noun is not None:
        needed = {TaskKind.PUT: noun.edit, TaskKind.DELETE: noun.delete}
        permission = needed.get(TaskKind(row.kind), noun.view)
    else:
        is_own_read = row.principal_id == call.caller.id and not TaskKind(row.kind).writes
        least = Permission.APPLICATION_VIEW if is_own_read else Permission.APPLICATION_SYNC
        permission = _NEEDS.get(TaskKind(row.kind), least)
        scope = await _application_scope(call, row)
    call.require(permission, scope, f"task {row.id}")


async def _application_scope(call: ApiCall, row: TaskRow) -> ResourceScope:
    """Read the scope of the task's application, or where it would stand if it were there."""
    namespace, _, name = row.subject.partition("/")
    query = selected().where(
        applications.c.agent_id == row.agent_id,
        applications.c.namespace == namespace,
        applications.c.name == name,
    )
    app = await find_row(call.connection, query, ApplicationRow)
    if app is not None:
        return await apps.scope_of(call, app)
    return await application_scope(call.connection, row.agent_id, row.project, {})


def _noun_of(row: TaskRow) -> ConnectionNoun | None:
    """Name the kind of connection that a task is about; None for an Application or AppProject."""
    if row.kind == TaskKind.REFS:
        return REPOSITORIES
    kind = row.arguments.get("kind") if row.kind in _WRITES_OBJECTS else None
    return next((it for it in NOUNS if it.kind == kind), None)


def _visible(call: ApiCall) -> ColumnElement[bool]:
    """Select tasks by permission on their subject, whoever asked for them."""
    subject = applications.c.namespace + "/" + applications.c.name
    application = exists(
        select(applications.c.id)
        .where(
            applications.c.agent_id == tasks.c.agent_id,
            subject == tasks.c.subject,
            visible_applications(call.caller, Permission.APPLICATION_VIEW),
        )
        .correlate(tasks)
    )
    placed = visible_tasks(call.caller, Permission.APPLICATION_VIEW)
    about_application = and_(~or_(*map(_is_about, NOUNS)), or_(application, placed))
    connections = (and_(_is_about(it), _agent_seen(call, it.view)) for it in NOUNS)
    return or_(about_application, *connections, _agent_seen(call, Permission.AGENT_EDIT))


def _is_about(noun: ConnectionNoun) -> ColumnElement[bool]:
    """As `_noun_of`, in SQL."""
    named = func.coalesce(tasks.c.arguments["kind"].astext, "") == noun.kind
    written = and_(tasks.c.kind.in_(_WRITES_OBJECTS), named)
    return or_(written, tasks.c.kind == TaskKind.REFS) if noun is REPOSITORIES else written


def _agent_seen(call: ApiCall, permission: Permission) -> ColumnElement[bool]:
    return exists(
        select(agents.c.id)
        .where(agents.c.id == tasks.c.agent_id, visible_agents(call.caller, permission))
        .correlate(tasks)
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/tasks",
        needs=OpenAccess.LOGGED_IN,
        handler=list_tasks,
        takes=TasksQuery,
        gives=Page[TaskSummary],
    ),
    Endpoint(
        method="GET",
        path="/tasks/{id}",
        needs=OpenAccess.LOGGED_IN,
        handler=get_task,
        gives=TaskSummary,
    ),
    Endpoint(
        method="POST",
        path="/tasks/{id}/cancel",
        needs=OpenAccess.LOGGED_IN,
        handler=cancel_task,
        gives=TaskSummary,
    ),
)
