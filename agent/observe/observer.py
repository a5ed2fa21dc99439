"""The bus's observer: every hop becomes numbers, a span, and a log line for each fact it said.

Called on the hot path: it counts and returns. It decides nothing, and nothing depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from agent.observe import facts
from agent.observe.metrics import Metrics
from agent.observe.tracing import FinishedSpan, Spans
from bus.envelope import Envelope
from bus.events import Compared, Fact
from bus.observer import Hop, Outcome
from bus.route import Route

log = structlog.get_logger()

_WRONG = frozenset({Outcome.REJECTED, Outcome.FAILED, Outcome.DEAD, Outcome.LOST})


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseObserver:
    """Implements `bus.observer.Observer`."""

    metrics: Metrics
    spans: Spans

    def on_taken(self, route: Route, envelope: Envelope, queue_seconds: float) -> None:  # noqa: ARG002  the port's signature
        self.metrics.queue_seconds.labels(route.name).observe(queue_seconds)

    def on_handled(self, hop: Hop) -> None:
        self.metrics.room_seconds.labels(hop.route.name, hop.outcome).observe(hop.seconds)
        for result in hop.results:
            if isinstance(result, Fact):
                self._say(result, hop)
        self.spans.record(_span(hop))

    def on_dead(self, route: Route, reason: str) -> None:
        self.metrics.dead_letters.labels(route.name).inc()
        log.error("dead letter", room=route.name, reason=reason)

    def _say(self, fact: Fact, hop: Hop) -> None:
        facts.count(self.metrics, fact)
        if isinstance(fact, Compared):
            self.metrics.app_reconcile.labels(fact.app.namespace).observe(hop.seconds)
        say = log.warning if facts.needs_a_person(fact) else log.info
        say("fact", correlation=hop.envelope.correlation, **facts.fields(fact))


def _span(hop: Hop) -> FinishedSpan:
    return FinishedSpan(
        name=hop.route.name,
        trace=hop.span,
        parent=hop.envelope.trace,
        started=hop.started,
        seconds=hop.seconds,
        attributes={
            "gitops.event": hop.event.name,
            "gitops.key": str(hop.event.key),
            "gitops.outcome": hop.outcome.value,
            "gitops.results": len(hop.results),
            "messaging.message.id": hop.envelope.id,
            "gitops.correlation": hop.envelope.correlation,
        },
        error=hop.reason or hop.outcome.value if hop.outcome in _WRONG else "",
    )
