"""The table of the API: the endpoints of every area, for the router and the OpenAPI document.

Each area exports its rows as ENDPOINTS. Within an area a path with a word where an id may stand
(`/applications/bulk/sync`) comes before the path with the id: the router takes the first match.
"""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from service.api import (
    access,
    agents,
    applications,
    audit,
    connections,
    events,
    fleet,
    history,
    tasks,
)
from service.http import docs
from service.http.endpoint import Endpoint
from service.http.process import process_routes
from service.http.serve import EndpointServer

_AREAS = (access, fleet, applications, tasks, agents, connections, audit, events, history)


def table(*, public_description: bool = False) -> tuple[Endpoint, ...]:
    """List the endpoints; with `public_description` the API's own description needs no login."""
    rows = tuple(row for area in _AREAS for row in area.ENDPOINTS)
    return (*rows, *docs.endpoints(rows, public=public_description))


def routes(server: EndpointServer, *, public_description: bool) -> Sequence[web.RouteDef]:
    """Make the routes of all endpoints, and of the process."""
    rows = table(public_description=public_description)
    return [*process_routes(), *(server.route(it) for it in rows)]
