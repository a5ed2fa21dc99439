"""Which rows of the record a caller may see, as conditions of SQL.

A fact or a drift belongs to its application. One whose application is gone is seen by those who may
see all of the account; a fact about a repository by those who may see repositories of its agent.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Table, and_, func, or_, true

from service.access.permissions import Permission
from service.api.call import Call
from service.api.sight import visible_agents, visible_applications, whole_account
from service.store.tables import agents, applications, facts

VIEW = Permission.APPLICATION_VIEW


def same_application(table: Table) -> ColumnElement[bool]:
    """Joins `applications` to a table with `agent_id` and `subject`, along its unique index."""
    return and_(
        applications.c.agent_id == table.c.agent_id,
        applications.c.namespace == func.split_part(table.c.subject, "/", 1),
        applications.c.name == func.split_part(table.c.subject, "/", 2),
    )


def visible(call: Call) -> ColumnElement[bool]:
    """Of a query that joins `agents`, and `applications` outer."""
    mine = agents.c.account_id == call.account
    if whole_account(call.caller, VIEW):
        return and_(mine, true())
    return and_(mine, visible_applications(call.caller, VIEW))


def visible_facts(call: Call) -> ColumnElement[bool]:
    of_repository = and_(
        facts.c.project == "", visible_agents(call.caller, Permission.REPOSITORY_VIEW)
    )
    return or_(visible(call), of_repository)
