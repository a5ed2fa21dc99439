"""Visibility of facts and drifts, as conditions of SQL.

A fact or drift is seen with its application. Where the application is gone, callers see it who see
the whole account; a fact about a repository, callers who may see repositories of its agent.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Table, and_, func, or_, true

from service.access.permissions import Permission
from service.access.visibility import visible_agents, visible_applications, whole_account
from service.http.call import ApiCall
from service.store.tables import agents, applications, facts

VIEW = Permission.APPLICATION_VIEW


def same_application(table: Table) -> ColumnElement[bool]:
    """Joins `applications` to a table with `agent_id` and `subject`, along its unique index."""
    return and_(
        applications.c.agent_id == table.c.agent_id,
        applications.c.namespace == func.split_part(table.c.subject, "/", 1),
        applications.c.name == func.split_part(table.c.subject, "/", 2),
    )


def visible(call: ApiCall) -> ColumnElement[bool]:
    """Select what the caller may see, in a query with `agents` and outer `applications`."""
    mine = agents.c.account_id == call.account
    if whole_account(call.caller, VIEW):
        return and_(mine, true())
    return and_(mine, visible_applications(call.caller, VIEW))


def visible_facts(call: ApiCall) -> ColumnElement[bool]:
    of_repository = and_(
        facts.c.project == "", visible_agents(call.caller, Permission.REPOSITORY_VIEW)
    )
    return or_(visible(call), of_repository)
