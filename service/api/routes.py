"""The table of the API: every noun's rows, from which router and OpenAPI document are made.

Other rooms with rows of their own offer them as ENDPOINTS in their module `endpoints`. Words that
stand where an id may (`/applications/bulk/sync`) come before it.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Sequence
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Middleware

from service.api import (
    agent_care,
    agent_changes,
    agent_manifest,
    agents,
    applications,
    appproject_orders,
    appprojects,
    audit,
    bindings,
    commands,
    connections,
    docs,
    filters,
    fleet,
    history,
    logs,
    manifests,
    organisations,
    own_access,
    previews,
    principals,
    projects,
    reads,
    resource_groups,
    roles,
    session,
    tasks,
    tokens,
)
from service.api.endpoint import Endpoint
from service.api.middleware import problems
from service.api.process import process_routes
from service.api.serve import route
from service.api.tools import Tools
from service.audit.denials import recording
from service.history import endpoints as of_history
from service.live import endpoints as of_live
from service.parts import Parts

_NOUNS = (
    session,
    own_access,
    fleet,
    commands,
    applications,
    manifests,
    reads,
    previews,
    history,
    logs,
    tasks,
    agents,
    agent_care,
    agent_changes,
    agent_manifest,
    connections,
    appprojects,
    appproject_orders,
    audit,
    filters,
    organisations,
    projects,
    principals,
    tokens,
    roles,
    resource_groups,
    bindings,
)


def table(*, public_description: bool = False) -> tuple[Endpoint, ...]:
    """Every row; `public_description`: the API's own description needs no login."""
    own = [row for noun in _NOUNS for row in noun.ENDPOINTS]
    rows = (*own, *of_live.ENDPOINTS, *of_history.ENDPOINTS)
    return (*rows, *docs.endpoints(rows, public=public_description))


def routes(parts: Parts) -> Sequence[web.RouteDef]:
    tools = Tools.of(parts)
    rows = table(public_description=parts.settings.public_description)
    return [*process_routes(), *(route(tools, it) for it in rows)]


def workers(parts: Parts) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
    yield "denials", recording(parts.engine, parts.denials, parts.clock)


def middlewares(_parts: Parts) -> Sequence[Middleware]:
    return (problems,)
