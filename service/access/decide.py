"""May they? Deny by default; one binding that reaches the place and holds the permission allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from service.access.permissions import Permission
from service.access.values import Binding, Decision, Place, Scope

DENIED = Decision(allowed=False)


def decide(bindings: Iterable[Binding], permission: Permission, place: Place) -> Decision:
    for binding in bindings:
        if permission in binding.permissions and reaches(binding.scope, place):
            return Decision(allowed=True, by=binding.id)
    return DENIED


def may_create(bindings: Iterable[Binding], permission: Permission, place: Place) -> bool:
    """May something be made there? Its maker chooses its labels, and with them who reaches it.

    So a binding that labels narrow allows it in a project only, whose bounds nobody chooses.
    """
    bounded = (it for it in bindings if it.scope.labels is None or it.scope.project)
    return decide(bounded, permission, place).allowed


def holds(bindings: Iterable[Binding], permission: Permission) -> bool:
    """Anywhere at all: whether a list is worth asking for."""
    return any(permission in binding.permissions for binding in bindings)


def reaches(scope: Scope, place: Place) -> bool:
    if scope.organisation and scope.organisation not in place.organisations:
        return False
    if scope.project and scope.project not in place.projects:
        return False
    return scope.labels is None or _has(place.labels, scope.labels)


def sight(bindings: Iterable[Binding], permission: Permission) -> tuple[Scope, ...]:
    """Where the permission is held, the widest scope alone if there is one for the account."""
    scopes = tuple(it.scope for it in bindings if permission in it.permissions)
    return (Scope(),) if any(it.whole_account for it in scopes) else scopes


def exceeds(own: Iterable[Binding], given: Iterable[Permission], scope: Scope) -> frozenset[str]:
    """Which permissions one would give away without holding them in all of that scope."""
    mine = tuple(own)
    return frozenset(
        permission
        for permission in given
        if not any(
            permission in binding.permissions and _contains(binding.scope, scope)
            for binding in mine
        )
    )


def limited(bindings: Iterable[Binding], to: frozenset[Permission]) -> tuple[Binding, ...]:
    """As an API token sees them: never more than its principal holds. Empty: no limit."""
    if not to:
        return tuple(bindings)
    return tuple(
        Binding(id=it.id, permissions=it.permissions & to, scope=it.scope) for it in bindings
    )


def _contains(outer: Scope, inner: Scope) -> bool:
    if outer.organisation and outer.organisation != inner.organisation:
        return False
    if outer.project and outer.project != inner.project:
        return False
    return outer.labels is None or _has(inner.labels, outer.labels)


def _has(labels: Mapping[str, str] | None, wanted: Mapping[str, str]) -> bool:
    return labels is not None and all(labels.get(key) == it for key, it in wanted.items())
