"""The agent has two HTTP servers: webhooks for the public, health and metrics for the cluster.

The public one:

    POST /api/webhook   Argo CD's address for Git hosts; below it those of senders without headers

On a port of its own, because names of applications and projects stand in it:

    GET  /healthz       200 as long as the process answers
    GET  /readyz        200, or 503 with what is missing and why; a standby is ready, and says so
    GET  /leaderz       200 where this agent acts, or 503 with what it waits for; with replicas that
                        divide the shards: which of them holds what
    GET  /metrics       Prometheus text

They serve no browser and have no other routes. A body is read only where the headers may be those
of the provider, up to the limit, and in the budget of `bus.http`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import structlog
from aiohttp import web

from agent.ingress.delivery_intake import DeliveryAnswer, DeliveryIntake, answer
from agent.ingress.webhooks.delivery import (
    DeliveryOutcome,
    ReceivedDelivery,
    WebhookDelivery,
    too_large,
)
from agent.ingress.webhooks.provider import addressed
from agent.observe.health import Readiness
from agent.observe.metrics import CONTENT_TYPE, AgentMetrics
from bus.http.body import BodyError, BodyProblem, read_body
from bus.http.forwarded import Network, forwarded
from bus.http.refusals import REFUSALS, prepare_refusals

log = structlog.get_logger()

_LINES, _WINDOW_SECONDS = 60, 60.0
_BODY_OUTCOMES = {
    BodyProblem.LATE: DeliveryOutcome.MALFORMED,
    BodyProblem.CUT: DeliveryOutcome.MALFORMED,
    BodyProblem.OVERLOADED: DeliveryOutcome.UNAVAILABLE,
}


@dataclass(slots=True)
class _Window:
    """One minute of one outcome."""

    until: float = 0.0
    lines: int = 0
    unlogged: int = 0
    """Deliveries without a line, also of earlier minutes."""


@dataclass(slots=True, kw_only=True)
class DeliveryLog:
    """Writes a line per accepted delivery, and counts those above sixty a minute.

    Without a secret every delivery is believed, and a host may send a thousand of its own: they
    must not fill the disk, and a line costs a fifth of the whole delivery. Each outcome has
    sixty lines a minute; the next line of the outcome says how many deliveries had none. The
    metric `argocd_webhook_requests` counts each at once.
    """

    lines: int = _LINES
    """Lines of one outcome in a minute."""
    now: Callable[[], float] = time.monotonic
    _windows: dict[DeliveryOutcome, _Window] = field(default_factory=dict)

    def __call__(self, outcome: DeliveryOutcome, about: Mapping[str, object]) -> None:
        """Log the delivery with the fields `about`, or count it."""
        window = self._windows.setdefault(outcome, _Window())
        if self.now() >= window.until:
            window.until, window.lines = self.now() + _WINDOW_SECONDS, 0
        if window.lines >= self.lines:
            window.unlogged += 1
            return
        earlier = {"unlogged": window.unlogged} if window.unlogged else {}
        window.lines, window.unlogged = window.lines + 1, 0
        log.info("webhook", outcome=outcome.value, **about, **earlier)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookServer:
    """The public routes are methods; `application` puts them together."""

    take: DeliveryIntake
    metrics: AgentMetrics
    body_limit: int
    trusted_proxies: Sequence[Network] = ()
    delivery_log: DeliveryLog = field(default_factory=DeliveryLog)

    def application(self) -> web.Application:
        app = web.Application(middlewares=[forwarded(self.trusted_proxies)])
        prepare_refusals(app)
        app.router.add_post("/api/webhook", self.webhook)
        app.router.add_post("/api/webhook/{provider}", self.webhook)
        return app

    async def webhook(self, request: web.Request) -> web.Response:
        sent = {name.lower(): value for name, value in request.headers.items()}
        provider = request.match_info.get("provider", "")
        headers = addressed(sent, provider, request.query.get("token", ""))
        begun = self.take.begin(headers)
        if isinstance(begun, ReceivedDelivery):
            return self._end(request, begun, answer(begun))
        received, answered = await self.take(headers, await self._received(request, begun))
        return self._end(request, received, answered)

    async def _received(self, request: web.Request, delivery: WebhookDelivery) -> ReceivedDelivery:
        try:
            body = await read_body(request, self.body_limit, delivery.body_check.feed)
        except BodyError as error:
            if error.problem is BodyProblem.TOO_LARGE:
                return too_large(self.body_limit)
            return ReceivedDelivery(
                outcome=_BODY_OUTCOMES[error.problem],
                message=str(error),
                provider=delivery.provider.name,
            )
        return delivery.end(body)

    def _end(
        self, request: web.Request, received: ReceivedDelivery, answered: DeliveryAnswer
    ) -> web.Response:
        """The same outcome in metric, log and answer."""
        outcome = received.outcome
        self.metrics.webhooks.labels(received.provider or "unknown", outcome).inc()
        about = {
            "provider": received.provider,
            "message": received.message,
            "delivery": answered.delivery,
            "ref": answered.ref,
            "repositories": answered.repositories,
        }
        if outcome.is_refusal:
            refuse, reason = request.app[REFUSALS], f"{received.provider} {outcome}".strip()
            about["outcome"] = outcome.value
            refuse(log.warning, "webhook", address=request.remote, reason=reason, about=about)
        else:
            self.delivery_log(outcome, about)
        return web.Response(
            status=outcome.status,
            body=msgspec.json.encode(answered),
            content_type="application/json",
        )


def _undivided() -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsServer:
    """The routes of health and metrics are methods; `application` puts them together."""

    readiness: Readiness
    metrics: AgentMetrics
    holders: Callable[[], Mapping[str, Sequence[str]] | None] = _undivided
    """Which shards each replica holds, by its name; None where replicas do not divide them."""

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
        answered = {"ready": not missing, "acting": not idle, "missing": missing}
        return _probed(not missing, {**answered, "standby": self.readiness.standby if idle else ""})

    async def leaderz(self, _: web.Request) -> web.Response:
        idle = self.readiness.idle()
        holders = self.holders()
        divided = {} if holders is None else {"holders": holders}
        return _probed(not idle, {"acting": not idle, "missing": idle, **divided})

    async def scrape(self, _: web.Request) -> web.Response:
        return web.Response(body=self.metrics.text(), headers={"Content-Type": CONTENT_TYPE})


def _probed(good: bool, answered: Mapping[str, object]) -> web.Response:  # noqa: FBT001  the verdict
    body = msgspec.json.encode(answered)
    return web.Response(status=200 if good else 503, body=body, content_type="application/json")
