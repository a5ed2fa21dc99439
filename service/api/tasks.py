"""Tasks: what was asked of agents and what became of it."""

from __future__ import annotations

from sqlalchemy import ColumnElement, RowMapping, and_, exists, func, or_, select

from bus.link import TaskKind
from service.access.permissions import Permission
from service.access.values import Place
from service.api import applications as apps
from service.api.call import Call
from service.api.connection_nouns import NOUNS, Noun
from service.api.endpoint import Endpoint, Nothing, Open
from service.api.fields import Id, Text
from service.api.orders import Task, row_of, task_of
from service.api.pages import Order, Page, PageQuery, rows_of
from service.api.problem import DeniedError
from service.api.sight import (
    agent_place,
    application_place,
    visible_agents,
    visible_applications,
    visible_tasks,
)
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


async def list_tasks(call: Call, given: TasksQuery) -> Page[Task]:
    """List the tasks of what one may see, the newest first; one's own are no exception."""
    query = select(tasks).where(tasks.c.account_id == call.account, _visible(call))
    for text, column in (
        (given.agent, tasks.c.agent_id),
        (given.kind, tasks.c.kind),
        (given.phase, tasks.c.phase),
        (given.subject, tasks.c.subject),
        (given.actor, tasks.c.actor),
    ):
        if text:
            query = query.where(column.in_(text.split(",")))
    order = Order(columns=(tasks.c.id,), descending=True)
    found = await rows_of(call.connection, query, order, given, f"{call.account}/tasks")
    items = [task_of({**row, "result": None}) for row in found.rows]
    return Page(items=items, next=found.next)


async def get_task(call: Call, _given: Nothing) -> Task:
    """One task with its result."""
    return task_of(await _find(call))


async def cancel_task(call: Call, _given: Nothing) -> Task:
    """End it: at once where it still waits, else the agent is asked to."""
    row = await _find(call)
    await _require(call, row)
    held = select(tasks.c.id).where(tasks.c.id == row["id"]).with_for_update()
    await call.connection.execute(held)  # as the writer of results does, before the audit
    await call.turn()
    await call.tools.parts.tasks.cancel(call.connection, row["id"])
    await call.audit("task.cancel", f"task/{row['id']}", project=row["project"])
    return task_of(await row_of(call, row["id"]))


async def _find(call: Call) -> RowMapping:
    row = await row_of(call, call.id)
    seen = select(tasks.c.id).where(tasks.c.id == row["id"], _visible(call))
    if await call.connection.scalar(seen) is None:
        raise DeniedError(Permission.APPLICATION_VIEW, f"task {call.id}", status=404)
    return row


async def _require(call: Call, row: RowMapping) -> None:
    """Who may have asked for it may also end it, but reads of others take what a sync takes."""
    agent = select(agents).where(agents.c.id == row["agent_id"])
    place = agent_place((await call.connection.execute(agent)).mappings().one())
    noun = _noun_of(row)
    if noun is not None:
        needed = {TaskKind.PUT: noun.edit, TaskKind.DELETE: noun.delete}
        permission = needed.get(TaskKind(row["kind"]), noun.view)
    else:
        is_own_read = row["principal_id"] == call.caller.id and not TaskKind(row["kind"]).writes
        least = Permission.APPLICATION_VIEW if is_own_read else Permission.APPLICATION_SYNC
        permission = _NEEDS.get(TaskKind(row["kind"]), least)
        place = await _application_place(call, row)
    call.require(permission, place, f"task {row['id']}")


async def _application_place(call: Call, row: RowMapping) -> Place:
    """Of the application, or of where it would stand if it were there."""
    namespace, _, name = row["subject"].partition("/")
    query = apps.selected().where(
        applications.c.agent_id == row["agent_id"],
        applications.c.namespace == namespace,
        applications.c.name == name,
    )
    app = (await call.connection.execute(query)).mappings().one_or_none()
    if app is not None:
        return await apps.place_of(call, app)
    return await application_place(call.connection, row["agent_id"], row["project"], {})


def _noun_of(row: RowMapping) -> Noun | None:
    """The kind of connection that the task is about; None for an application or AppProject."""
    if row["kind"] == TaskKind.REFS:
        return NOUNS[0]
    kind = row["arguments"].get("kind") if row["kind"] in _WRITES_OBJECTS else None
    return next((it for it in NOUNS if it.kind == kind), None)


def _visible(call: Call) -> ColumnElement[bool]:
    """By permission on the subject, whoever asked: a limited token sees what it may view."""
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


def _is_about(noun: Noun) -> ColumnElement[bool]:
    """As `_noun_of`, in SQL."""
    named = func.coalesce(tasks.c.arguments["kind"].astext, "") == noun.kind
    written = and_(tasks.c.kind.in_(_WRITES_OBJECTS), named)
    return or_(written, tasks.c.kind == TaskKind.REFS) if noun is NOUNS[0] else written


def _agent_seen(call: Call, permission: Permission) -> ColumnElement[bool]:
    return exists(
        select(agents.c.id)
        .where(agents.c.id == tasks.c.agent_id, visible_agents(call.caller, permission))
        .correlate(tasks)
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/tasks",
        needs=Open.LOGGED_IN,
        handler=list_tasks,
        takes=TasksQuery,
        gives=Page[Task],
    ),
    Endpoint(method="GET", path="/tasks/{id}", needs=Open.LOGGED_IN, handler=get_task, gives=Task),
    Endpoint(
        method="POST",
        path="/tasks/{id}/cancel",
        needs=Open.LOGGED_IN,
        handler=cancel_task,
        gives=Task,
    ),
)
