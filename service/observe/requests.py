"""Requests are counted by the template of their route, method and status.

What a stranger chooses is no label: a path without a route is `unmatched`, an unknown method
`other`. Streams and links are counted when they end; how long they lasted is no latency.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from service.observe.metrics import Metrics

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_LOGIN = "/api/v1/login"
_EVENT_STREAM = "text/event-stream"
_FAILED = 500
_LEFT = 499
"""As nginx counts it: the caller went before there was an answer."""


def counted(metrics: Metrics) -> Middleware:
    @web.middleware
    async def count(request: web.Request, handler: _Handler) -> web.StreamResponse:
        started = time.monotonic()
        status, is_stream = _FAILED, False
        try:
            response = await handler(request)
            status, is_stream = response.status, _is_stream(response)
        except web.HTTPException as answer:
            status = answer.status
            raise
        except asyncio.CancelledError:
            status = _LEFT
            raise
        finally:
            _note(metrics, request, status, None if is_stream else time.monotonic() - started)
        return response

    return count


def template_of(request: web.Request) -> str:
    """The route's template, as `/api/v1/applications/{id}`."""
    resource = request.match_info.route.resource
    return "unmatched" if resource is None else resource.canonical


def method_of(request: web.Request) -> str:
    return request.method if request.method in hdrs.METH_ALL else "other"


def _note(metrics: Metrics, request: web.Request, status: int, seconds: float | None) -> None:
    route, method = template_of(request), method_of(request)
    metrics.requests.labels(route, method, str(status)).inc()
    if seconds is not None:
        metrics.request_seconds.labels(route, method).observe(seconds)
    if route == _LOGIN and status >= 400:
        metrics.login_refusals.labels(str(status)).inc()


def _is_stream(response: web.StreamResponse) -> bool:
    return isinstance(response, web.WebSocketResponse) or response.content_type == _EVENT_STREAM
