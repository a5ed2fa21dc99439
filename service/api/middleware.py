"""Errors of the router itself, below /api/, as problem+json: no such path, no such method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from service.api.problem import ProblemError, answer
from service.api.serve import HEADERS

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def problems(request: web.Request, handler: _Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as e:
        if not request.path.startswith("/api/") or e.status < 400:
            raise
        allow = {"Allow": e.headers["Allow"]} if "Allow" in e.headers else {}
        problem = ProblemError(e.status, e.reason, remedy="See /api/v1/openapi.json.").problem
        return answer(problem, HEADERS | allow)
