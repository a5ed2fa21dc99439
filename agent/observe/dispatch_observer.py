"""The dispatch observer turns every hop into metrics, a span, and a log line per fact.

Its methods are called on the hot path: they count and return. Some facts need a person: they are
warnings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import structlog

from agent.observe.metrics import AgentMetrics
from bus.dispatch_observer import DispatchHop, DispatchOutcome
from bus.envelope import Envelope
from bus.events import (
    Compared,
    Fact,
    ManifestsRendered,
    OperationFinished,
    RefreshFailed,
    RenderFailed,
)
from bus.route import Route
from bus.spans import FinishedSpan, Spans, SpanType
from bus.status import OperationPhase

log = structlog.get_logger()

_WRONG = frozenset(
    {DispatchOutcome.REJECTED, DispatchOutcome.FAILED, DispatchOutcome.DEAD, DispatchOutcome.LOST}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchObserver:
    """Implements `bus.dispatch_observer.DispatchWatcher`."""

    metrics: AgentMetrics
    spans: Spans

    def on_taken(self, route: Route, envelope: Envelope, queue_seconds: float) -> None:  # noqa: ARG002  the port's signature
        self.metrics.queue_seconds.labels(route.name).observe(queue_seconds)

    def on_handled(self, hop: DispatchHop) -> None:
        self.metrics.handler_seconds.labels(hop.route.name, hop.outcome).observe(hop.seconds)
        for result in hop.results:
            if isinstance(result, Fact):
                self._record_fact(result, hop)
        self.spans.record(_span(hop))

    def on_dead(self, route: Route, reason: str) -> None:
        self.metrics.dead_letters.labels(route.name).inc()
        log.error("dead letter", handler=route.name, reason=reason)

    def _record_fact(self, fact: Fact, hop: DispatchHop) -> None:
        _count(self.metrics, fact)
        if isinstance(fact, Compared):
            self.metrics.app_reconcile.labels(fact.app.namespace).observe(hop.seconds)
        write = log.warning if _needs_a_person(fact) else log.info
        write("fact", correlation=hop.envelope.correlation, **_fields(fact))


def _span(hop: DispatchHop) -> FinishedSpan:
    return FinishedSpan(
        name=hop.route.name,
        type=SpanType.CONSUMER,
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


def _count(metrics: AgentMetrics, fact: Fact) -> None:
    metrics.facts.labels(fact.name).inc()
    match fact:
        case ManifestsRendered():
            metrics.renders.labels(str(fact.cached).lower()).inc()
        case OperationFinished():
            app = fact.app
            metrics.app_syncs.labels(app.namespace, app.name, fact.project, fact.phase).inc()
        case _:
            pass


def _needs_a_person(fact: Fact) -> bool:
    """Tell whether the fact is a failure that a person may have to resolve."""
    match fact:
        case RefreshFailed() | RenderFailed():
            return True
        case OperationFinished():
            return fact.phase != OperationPhase.SUCCEEDED
        case _:
            return False


def _fields(fact: Fact) -> Mapping[str, object]:
    """Turn the fact into log _fields, without defaults; `about` is the text of the key."""
    named = msgspec.to_builtins(fact)
    named.pop("app", None)
    named.pop("repository", None)
    return {"fact": fact.name, "about": str(fact.key), **named}
