"""An OTLP collector as a test needs it: takes traces over HTTP, and can be slow or ill."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.test_utils import TestServer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

PATH = "/v1/traces"
_TYPE = "application/x-protobuf"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedSpan:
    service: str
    name: str
    trace: str
    span: str
    parent: str
    """Empty for a root."""
    attributes: dict[str, str]
    failed: bool


@dataclass(slots=True, kw_only=True)
class Collector:
    url: str = ""
    status: int = 200
    open: asyncio.Event = field(default_factory=asyncio.Event)
    """Not set: requests get no answer."""
    asked: int = 0
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def spans(self) -> list[CollectedSpan]:
        return [span for body in self.bodies for span in _spans(body)]

    def named(self, name: str) -> list[CollectedSpan]:
        return [span for span in self.spans if span.name == name]

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.asked += 1
        await self.open.wait()
        if self.status == 200:
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
        answer = ExportTraceServiceResponse().SerializeToString()
        return web.Response(status=self.status, body=answer, content_type=_TYPE)


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    collector = Collector()
    collector.open.set()
    app = web.Application()
    app.router.add_post(PATH, collector.take)
    async with TestServer(app) as server:
        collector.url = f"http://{server.host}:{server.port}"
        yield collector
        collector.open.set()


def _spans(body: bytes) -> list[CollectedSpan]:
    request = ExportTraceServiceRequest.FromString(body)
    return [
        CollectedSpan(
            service=next(
                it.value.string_value
                for it in resource.resource.attributes
                if it.key == "service.name"
            ),
            name=span.name,
            trace=span.trace_id.hex(),
            span=span.span_id.hex(),
            parent=span.parent_span_id.hex(),
            attributes={
                it.key: it.value.string_value or str(it.value.int_value) for it in span.attributes
            },
            failed=span.status.code == span.status.STATUS_CODE_ERROR,
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
