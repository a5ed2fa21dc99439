"""Decisions of access: deny by default, allow by one binding. Pure.

A *caller* is the principal of a request, with how the request proved it and its granted roles. A
*binding* gives a role's permissions to a principal in a *scope*: the account, an organisation or a
project, narrowed by the labels of a resource group. A *resource scope* says which organisations and
projects the resource belongs to that somebody wants to use. A binding allows where its scope
reaches the resource and its role holds the permission.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from service.access.permissions import Permission


class BindingScope(msgspec.Struct, frozen=True, kw_only=True):
    """Neither organisation nor project: the whole account. `labels`: None for no narrowing."""

    organisation: str = ""
    project: str = ""
    labels: Mapping[str, str] | None = None

    @property
    def whole_account(self) -> bool:
        return not (self.organisation or self.project) and self.labels is None


class GrantedRole(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    permissions: frozenset[Permission]
    scope: BindingScope = BindingScope()
    actions: frozenset[str] = frozenset()
    """Patterns of resource actions, see `action_patterns`."""


class ResourceScope(msgspec.Struct, frozen=True, kw_only=True):
    """Ids of the organisations and projects it belongs to; `labels` only for applications."""

    organisations: frozenset[str] = frozenset()
    projects: frozenset[str] = frozenset()
    labels: Mapping[str, str] | None = None


ACCOUNT = ResourceScope()
"""What belongs to the account as a whole: only a binding to the account reaches it."""


class AccessDecision(msgspec.Struct, frozen=True, kw_only=True):
    allowed: bool
    by: str = ""
    """The binding that allowed it."""


DENIED = AccessDecision(allowed=False)


def decide(
    bindings: Iterable[GrantedRole], permission: Permission, resource: ResourceScope
) -> AccessDecision:
    for binding in bindings:
        if permission in binding.permissions and reaches(binding.scope, resource):
            return AccessDecision(allowed=True, by=binding.id)
    return DENIED


def may_create(
    bindings: Iterable[GrantedRole], permission: Permission, resource: ResourceScope
) -> bool:
    """May something be made there? Its maker chooses its labels, and with them who reaches it.

    So a binding that labels narrow allows it in a project only, whose bounds nobody chooses.
    """
    bounded = (it for it in bindings if it.scope.labels is None or it.scope.project)
    return decide(bounded, permission, resource).allowed


def holds(bindings: Iterable[GrantedRole], permission: Permission) -> bool:
    """Anywhere at all: whether a list is worth asking for; single actions are a part of all."""
    is_action = permission is Permission.APPLICATION_ACTION
    return any(
        permission in binding.permissions or (is_action and bool(binding.actions))
        for binding in bindings
    )


def reaches(scope: BindingScope, resource: ResourceScope) -> bool:
    if scope.organisation and scope.organisation not in resource.organisations:
        return False
    if scope.project and scope.project not in resource.projects:
        return False
    return scope.labels is None or _has(resource.labels, scope.labels)


def visible_scopes(
    bindings: Iterable[GrantedRole], permission: Permission
) -> tuple[BindingScope, ...]:
    """List the scopes in which the permission is held; one for the whole account stands alone."""
    scopes = tuple(it.scope for it in bindings if permission in it.permissions)
    return (BindingScope(),) if any(it.whole_account for it in scopes) else scopes


def exceeds(
    own: Iterable[GrantedRole], granted: Iterable[Permission], scope: BindingScope
) -> frozenset[str]:
    """Which permissions one would give away without holding them in all of that scope."""
    mine = tuple(own)
    return frozenset(
        permission
        for permission in granted
        if not any(
            permission in binding.permissions and contains(binding.scope, scope) for binding in mine
        )
    )


def contains(outer: BindingScope, inner: BindingScope) -> bool:
    """Decide whether a binding to the one scope reaches all that a binding to the other does."""
    if outer.organisation and outer.organisation != inner.organisation:
        return False
    if outer.project and outer.project != inner.project:
        return False
    return outer.labels is None or _has(inner.labels, outer.labels)


def limited(bindings: Iterable[GrantedRole], to: frozenset[Permission]) -> tuple[GrantedRole, ...]:
    """Cut roles to what an API token may, never more than its principal; empty: no limit."""
    if not to:
        return tuple(bindings)
    keeps_actions = Permission.APPLICATION_ACTION in to
    return tuple(
        GrantedRole(
            id=it.id,
            permissions=it.permissions & to,
            scope=it.scope,
            actions=it.actions if keeps_actions else frozenset(),
        )
        for it in bindings
    )


def _has(labels: Mapping[str, str] | None, required: Mapping[str, str]) -> bool:
    return labels is not None and all(labels.get(key) == it for key, it in required.items())


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    account: str
    account_name: str
    id: str
    name: str
    display_name: str
    kind: str
    bindings: tuple[GrantedRole, ...]
    csrf: str = ""
    """Of the session; empty for a token."""
    token: str = ""
    """Id of the API token; empty for a session."""
    session: str = ""
    """Id of the session; empty for a token."""
    until: datetime | None = None
    """When the session or token ends by itself, as far as is known now."""
    address: str = ""

    @property
    def by_cookie(self) -> bool:
        return not self.token
