"""The API of access: login, own sessions, and the nouns that decide who may do what."""

from service.api.access import (
    bindings,
    organisations,
    own_access,
    principals,
    projects,
    resource_groups,
    roles,
    session,
    tokens,
)

ENDPOINTS = (
    *session.ENDPOINTS,
    *own_access.ENDPOINTS,
    *organisations.ENDPOINTS,
    *projects.ENDPOINTS,
    *principals.ENDPOINTS,
    *tokens.ENDPOINTS,
    *roles.ENDPOINTS,
    *resource_groups.ENDPOINTS,
    *bindings.ENDPOINTS,
)

__all__ = ["ENDPOINTS"]
