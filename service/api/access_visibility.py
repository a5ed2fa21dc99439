"""Which roles and resource groups a caller may see, as conditions of SQL.

Their names tell what else goes on in the account. Who views access in one project sees what is
bound there; who gives access there sees beside that what can be given.
"""

from __future__ import annotations

from sqlalchemy import and_, or_, select

from service.access.decide import exceeds, holds, sight
from service.access.permissions import Permission
from service.api.sight import Condition, visible_bindings, whole_account
from service.auth.caller import Caller
from service.store.tables import bindings, resource_groups, roles

_VIEW, _EDIT = Permission.ACCESS_VIEW, Permission.ACCESS_EDIT


def visible_roles(caller: Caller) -> Condition:
    """Over `roles`: the built-in ones, those bound where one may look, those that one may give."""
    mine = roles.c.account_id == caller.account
    if whole_account(caller, _VIEW):
        return mine
    bound = select(bindings.c.role_id).where(visible_bindings(caller, _VIEW))
    given = [roles.c.permissions.contained_by(held) for held in _given(caller)]
    return and_(mine, or_(roles.c.built_in, roles.c.id.in_(bound), *given))


def visible_groups(caller: Caller) -> Condition:
    """Over `resource_groups`: those that bindings are narrowed to where one may look.

    Who gives access sees all of them, because any of them can narrow what is given.
    """
    mine = resource_groups.c.account_id == caller.account
    if whole_account(caller, _VIEW) or holds(caller.bindings, _EDIT):
        return mine
    bound = select(bindings.c.resource_group_id).where(visible_bindings(caller, _VIEW))
    return and_(mine, resource_groups.c.id.in_(bound))


def _given(caller: Caller) -> list[list[str]]:
    """For each scope in which the caller gives access: the permissions held in all of it."""
    scopes = sight(caller.bindings, _EDIT)
    every = frozenset(Permission)
    return [sorted(every - exceeds(caller.bindings, every, scope)) for scope in scopes]
