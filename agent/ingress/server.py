"""The agent's HTTP servers: webhooks for everybody, health and metrics for the cluster.

The public one:

    POST /api/webhook   Argo CD's address for Git hosts

On a port of its own, because names of applications and projects stand in it:

    GET  /healthz       200 as long as the process answers
    GET  /readyz        200, or 503 with what is missing and why; a standby is ready, and says so
    GET  /leaderz       200 where this agent acts, or 503 with what it waits for
    GET  /metrics       Prometheus text

They serve nobody's browser and have no other routes. A body is read only where the headers may be
those of the host, up to the limit, and in the budget of `bus.http`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import structlog
from aiohttp import web

from agent.ingress.answer import Answer, answer
from agent.ingress.take import TakeDelivery
from agent.ingress.webhooks.receive import Delivery, Outcome, Received, too_large
from agent.observe.health import Readiness
from agent.observe.metrics import CONTENT_TYPE, Metrics
from bus.http.body import BodyError, BodyProblem, read_body
from bus.http.forwarded import Network, forwarded
from bus.http.refusals import REFUSALS, prepare_refusals

log = structlog.get_logger()

_BODY_OUTCOMES = {
    BodyProblem.LATE: Outcome.MALFORMED,
    BodyProblem.CUT: Outcome.MALFORMED,
    BodyProblem.NO_ROOM: Outcome.UNAVAILABLE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookServer:
    """The public routes as methods; `application` puts them together."""

    take: TakeDelivery
    metrics: Metrics
    body_limit: int
    trusted_proxies: Sequence[Network] = ()

    def application(self) -> web.Application:
        app = web.Application(middlewares=[forwarded(self.trusted_proxies)])
        prepare_refusals(app)
        app.router.add_post("/api/webhook", self.webhook)
        return app

    async def webhook(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        begun = self.take.begin(headers)
        if isinstance(begun, Received):
            return self._end(request, begun, answer(begun))
        received, told = await self.take(headers, await self._received(request, begun))
        return self._end(request, received, told)

    async def _received(self, request: web.Request, delivery: Delivery) -> Received:
        try:
            body = await read_body(request, self.body_limit, delivery.signature.feed)
        except BodyError as error:
            if error.problem is BodyProblem.TOO_LARGE:
                return too_large(self.body_limit)
            return Received(
                outcome=_BODY_OUTCOMES[error.problem],
                message=str(error),
                provider=delivery.provider,
            )
        return delivery.end(body)

    def _end(self, request: web.Request, received: Received, told: Answer) -> web.Response:
        """The same outcome in metric, log and answer."""
        outcome = received.outcome
        self.metrics.webhooks.labels(received.provider or "unknown", outcome).inc()
        about = {
            "outcome": outcome.value,
            "provider": received.provider,
            "message": received.message,
            "delivery": told.delivery,
            "ref": told.ref,
            "repositories": told.repositories,
        }
        if outcome.is_refusal:
            refuse, reason = request.app[REFUSALS], f"{received.provider} {outcome}".strip()
            refuse(log.warning, "webhook", address=request.remote, reason=reason, about=about)
        else:
            log.info("webhook", **about)
        return web.Response(
            status=outcome.status,
            body=msgspec.json.encode(told),
            content_type="application/json",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsServer:
    """The routes of health and metrics as methods; `application` puts them together."""

    readiness: Readiness
    metrics: Metrics

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/healthz", self.healthz)
        app.router.add_get("/readyz", self.readyz)
        app.router.add_get("/leaderz", self.leaderz)
        app.router.add_get("/metrics", self.scrape)
        return app

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


def _probed(good: bool, told: Mapping[str, object]) -> web.Response:  # noqa: FBT001  the verdict
    body = msgspec.json.encode(told)
    return web.Response(status=200 if good else 503, body=body, content_type="application/json")
