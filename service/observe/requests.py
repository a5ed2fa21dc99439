"""Requests as metrics and traces: each is counted, and has a span, by the template of its route.

What a stranger chooses is no label: a path without a route is `unmatched`, an unknown method
`other`. Streams and links are counted when they end; how long they lasted is no latency.

The caller's `traceparent` is the parent of a request's span; what a request asks of an agent goes
on below it. Where this service exports nothing, the caller's own context is handed on as it came.
Attributes are of the route, the method and the status: nothing that was sent, which may hold a
secret.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from bus.spans import FinishedSpan, Spans, SpanType
from bus.trace import Trace
from service.observe.metrics import ServiceMetrics

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_LOGIN = "/api/v1/login"
_EVENT_STREAM = "text/event-stream"
FAILED = 500
_LEFT = 499
"""As nginx counts it: the caller went before there was an answer."""
_API, _LINK = "/api/", "/api/v1/link"
_TRACE: web.RequestKey[Trace] = web.RequestKey("trace", Trace)


def counted(metrics: ServiceMetrics) -> Middleware:
    @web.middleware
    async def count(request: web.Request, handler: Handler) -> web.StreamResponse:
        started = time.monotonic()
        answer = Answer()
        try:
            return await answer.of(handler, request)
        finally:
            seconds = None if answer.is_stream else time.monotonic() - started
            _note(metrics, request, answer.status, seconds)

    return count


@dataclass(slots=True)
class Answer:
    """How one request was answered; before an answer, as if the handler had failed."""

    status: int = FAILED
    is_stream: bool = False

    async def of(self, handler: Handler, request: web.Request) -> web.StreamResponse:
        """Call the handler and keep the status of its response, its error, or its end."""
        try:
            response = await handler(request)
        except web.HTTPException as error:
            self.status = error.status
            raise
        except asyncio.CancelledError:
            self.status = _LEFT
            raise
        self.status, self.is_stream = response.status, _is_stream(response)
        return response


def template_of(request: web.Request) -> str:
    """Name the route's template, as `/api/v1/applications/{id}`."""
    resource = request.match_info.route.resource
    return "unmatched" if resource is None else resource.canonical


def method_of(request: web.Request) -> str:
    return request.method if request.method in hdrs.METH_ALL else "other"


def _note(
    metrics: ServiceMetrics, request: web.Request, status: int, seconds: float | None
) -> None:
    route, method = template_of(request), method_of(request)
    metrics.requests.labels(route, method, str(status)).inc()
    if seconds is not None:
        metrics.request_seconds.labels(route, method).observe(seconds)
    if route == _LOGIN and status >= 400:
        metrics.login_refusals.labels(str(status)).inc()


def _is_stream(response: web.StreamResponse) -> bool:
    return isinstance(response, web.WebSocketResponse) or response.content_type == _EVENT_STREAM


def traced(spans: Spans) -> Middleware:
    @web.middleware
    async def trace(request: web.Request, handler: Handler) -> web.StreamResponse:
        parent = Trace.parse(*_context(request))
        route = template_of(request)
        if not spans.is_recording or not route.startswith(_API) or route == _LINK:
            if parent is not None:
                request[_TRACE] = parent
            return await handler(request)
        span = request[_TRACE] = spans.sampler.span(parent)
        started, answer = time.time(), Answer()
        try:
            return await answer.of(handler, request)
        finally:
            spans.record(_span(request, route, answer.status, started, (span, parent)))

    return trace


def trace_of(request: web.Request) -> Trace | None:
    """Read the trace of this request for what follows from it; None: no trace goes through here."""
    return request.get(_TRACE)


def _context(request: web.Request) -> tuple[str, str]:
    headers = request.headers
    return headers.get("traceparent", ""), ",".join(headers.getall("tracestate", ()))


def _span(
    request: web.Request,
    route: str,
    status: int,
    started: float,
    place: tuple[Trace, Trace | None],
) -> FinishedSpan:
    method = method_of(request)
    span, parent = place
    return FinishedSpan(
        name=f"{method} {route}",
        type=SpanType.SERVER,
        trace=span,
        parent=parent,
        started=started,
        seconds=time.time() - started,
        attributes={
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": status,
        },
        error=f"HTTP {status}" if status >= FAILED else "",
    )
