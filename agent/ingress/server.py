"""The HTTP front door: webhooks in; health and metrics out.

    POST /api/webhook   Argo CD's address for Git hosts
    GET  /healthz       200 as long as the process answers
    GET  /readyz        200, or 503 with what is missing and why; a standby is ready, and says so
    GET  /leaderz       200 where this agent acts, or 503 with what it waits for
    GET  /metrics       Prometheus text

It serves nobody's browser and has no other routes. Bodies are cut off at the limit while they are
read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec
import structlog
from aiohttp import web

from agent.ingress.answer import Answer, answer
from agent.ingress.take import TakeDelivery
from agent.ingress.webhooks.receive import Outcome, Received, too_large
from agent.observe.health import Readiness
from agent.observe.metrics import CONTENT_TYPE, Metrics

log = structlog.get_logger()

READ_SECONDS = 30.0
_WARN = frozenset({Outcome.UNAUTHORIZED, Outcome.MALFORMED, Outcome.TOO_LARGE, Outcome.UNAVAILABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontDoor:
    """The routes as methods; `application` puts them together."""

    take: TakeDelivery
    readiness: Readiness
    metrics: Metrics
    body_limit: int

    def application(self) -> web.Application:
        app = web.Application(client_max_size=self.body_limit)
        app.router.add_post("/api/webhook", self.webhook)
        app.router.add_get("/healthz", self.healthz)
        app.router.add_get("/readyz", self.readyz)
        app.router.add_get("/leaderz", self.leaderz)
        app.router.add_get("/metrics", self.scrape)
        return app

    async def webhook(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = await self._body(request)
        if isinstance(body, Received):
            return self._end(body, answer(body))
        received, told = await self.take(headers, body)
        return self._end(received, told)

    async def healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(self, _: web.Request) -> web.Response:
        missing, idle = self.readiness.missing(), self.readiness.idle()
        told = {"ready": not missing, "acting": not idle, "missing": missing}
        return _probed(not missing, {**told, "standby": self.readiness.standby if idle else ""})

    async def leaderz(self, _: web.Request) -> web.Response:
        idle = self.readiness.idle()
        return _probed(not idle, {"acting": not idle, "missing": idle})

    async def scrape(self, _: web.Request) -> web.Response:
        return web.Response(body=self.metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    async def _body(self, request: web.Request) -> bytes | Received:
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await request.read()
        except web.HTTPRequestEntityTooLarge:
            return too_large(self.body_limit)
        except TimeoutError:
            return Received(outcome=Outcome.MALFORMED, message="the body did not arrive in time")

    def _end(self, received: Received, told: Answer) -> web.Response:
        """The same outcome in metric, log and answer."""
        outcome = received.outcome
        self.metrics.webhooks.labels(received.provider or "unknown", outcome).inc()
        say = log.warning if outcome in _WARN else log.info
        say(
            "webhook",
            outcome=outcome.value,
            provider=received.provider,
            message=received.message,
            delivery=told.delivery,
            ref=told.ref,
            repositories=told.repositories,
        )
        return web.Response(
            status=outcome.status,
            body=msgspec.json.encode(told),
            content_type="application/json",
        )


def _probed(good: bool, told: Mapping[str, object]) -> web.Response:  # noqa: FBT001  the verdict
    body = msgspec.json.encode(told)
    return web.Response(status=200 if good else 503, body=body, content_type="application/json")


@asynccontextmanager
async def serving(app: web.Application, host: str, port: int) -> AsyncIterator[int]:
    """The port that is listened to as long as the block lasts (a free one for 0)."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=5.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
