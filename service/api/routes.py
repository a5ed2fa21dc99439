"""The table of the API: every noun's rows, from which router and OpenAPI document are made.

Other rooms with rows of their own offer them as ENDPOINTS in a module `endpoints`.
"""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web
from aiohttp.typedefs import Middleware

from service.api import (
    agents,
    applications,
    bindings,
    commands,
    organisations,
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
from service.api.serve import route
from service.api.tools import Tools
from service.parts import Parts


def table() -> tuple[Endpoint, ...]:
    nouns = (
        session,
        agents,
        commands,
        applications,
        reads,
        tasks,
        organisations,
        projects,
        principals,
        tokens,
        roles,
        resource_groups,
        bindings,
    )
    return tuple(row for noun in nouns for row in noun.ENDPOINTS)


def routes(parts: Parts) -> Sequence[web.RouteDef]:
    tools = Tools.of(parts)
    return [route(tools, it) for it in table()]


def middlewares(_parts: Parts) -> Sequence[Middleware]:
    return (problems,)
