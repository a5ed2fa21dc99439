"""Action patterns: which resource actions a role may run, written as in Argo CD's policies. Pure.

    action/apps/Deployment/restart      one action of one kind
    action/*/*/restart                  this action of every kind
    action//Pod/*                       all actions of a kind of the core group

`*` stands for any text. The permission `gitops_application_action` is the same as `action/*/*/*`. A
role that has patterns may run what they match, and no more, unless it has that permission too.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Annotated

import msgspec

from service.access.decision import BindingScope, GrantedRole, ResourceScope, contains, reaches
from service.access.permissions import Permission

EVERY_ACTION = Permission.APPLICATION_ACTION
PATTERN = r"^action/[A-Za-z0-9.*-]{0,253}/[A-Za-z0-9*]{1,63}/[A-Za-z0-9._*-]{1,100}$"
ActionPatterns = Annotated[
    frozenset[Annotated[str, msgspec.Meta(pattern=PATTERN, max_length=430)]],
    msgspec.Meta(max_length=100),
]


def action_name(group: str, kind: str, name: str) -> str:
    """The name of an action as patterns match it."""
    return f"action/{group}/{kind}/{name}"


def may_act(bindings: Iterable[GrantedRole], action: str, resource: ResourceScope) -> bool:
    """Decide whether one of the bindings allows the action on an application."""
    return any(reaches(one.scope, resource) and _allows(one, action) for one in bindings)


def exceeding_actions(
    own: Iterable[GrantedRole], granted: Iterable[str], scope: BindingScope
) -> frozenset[str]:
    """Find the patterns that one would give away without holding them in all of that scope.

    A pattern is held where another one matches it as a text: each `*` of the narrower one is then
    within a `*` of the wider one, so that it matches nothing that the wider one does not.
    """
    mine = [one for one in own if contains(one.scope, scope)]
    return frozenset(one for one in granted if not any(_allows(it, one) for it in mine))


def _allows(role: GrantedRole, action: str) -> bool:
    return EVERY_ACTION in role.permissions or any(_matches(it, action) for it in role.actions)


def _matches(pattern: str, action: str) -> bool:
    """Match part by part, so that no `*` reaches over a slash."""
    parts, names = pattern.split("/", 3), action.split("/", 3)
    return len(parts) == len(names) and all(map(fnmatchcase, names, parts))
