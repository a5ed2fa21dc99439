"""Taking a delivery: decide what it is, publish the asks, remember it; the root of a push's trace.

The pure parts are in webhooks/; here they meet the bus and the index. A burst of pushes to one
repository becomes one ask: asks of one subject are merged on the bus.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import structlog
from msgspec.structs import replace

from agent.ingress.answer import Answer, answer
from agent.ingress.webhooks.deliveries import Deliveries
from agent.ingress.webhooks.push import Push
from agent.ingress.webhooks.receive import Delivery, Outcome, Received, begin
from agent.ingress.webhooks.touch import AppsOfRepository, touched
from agent.ingress.webhooks.verify import SECRET_KEYS, Secrets
from agent.observe.tracing import FinishedSpan, Spans
from bus.carrier import CarrierError
from bus.events import Event, RefreshRepository
from bus.trace import Trace

log = structlog.get_logger()

PUBLISH_SECONDS = 8.0
"""GitHub gives up after ten."""


class Publish(Protocol):
    """`Bus.publish`; the asks become children of `trace`."""

    async def __call__(
        self, *events: Event, message_id: str = "", trace: Trace | None = None
    ) -> object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeDelivery:
    """A delivery that was received -> what happened, and what the sender is told."""

    apps: AppsOfRepository
    publish: Publish
    secrets: Callable[[], Secrets]
    """Asked for each delivery, so that a rotated secret counts at once."""
    spans: Spans = field(default_factory=Spans)
    deliveries: Deliveries = field(default_factory=Deliveries)

    def begin(self, headers: Mapping[str, str]) -> Delivery | Received:
        """By the headers alone: refused, or its body may be read."""
        return begin(headers, self.secrets())

    async def __call__(
        self, headers: Mapping[str, str], received: Received
    ) -> tuple[Received, Answer]:
        """Publish the asks of a push; whatever else was received is only answered."""
        if received.push is None:
            return received, answer(received)
        parent = Trace.parse(headers.get("traceparent", ""), headers.get("tracestate", ""))
        trace, started = parent.child() if parent else Trace.start(), time.time()
        ended = await self._take(received, received.push, trace)
        self.spans.record(_span(ended[0], started, trace, parent))
        return ended

    async def _take(self, received: Received, push: Push, trace: Trace) -> tuple[Received, Answer]:
        asks = touched(push, self.apps)
        if push.identity in self.deliveries:
            received = _ended(received, Outcome.DUPLICATE, "this delivery was taken before")
        elif not asks:
            received = _ended(
                received, Outcome.TOUCHES_NOTHING, "no Application uses this repository and ref"
            )
        else:
            received = await self._publish(received, push, asks, trace)
        urls = tuple(str(ask.repository) for ask in asks)
        return received, answer(received, urls if received.outcome is Outcome.ACCEPTED else ())

    async def _publish(
        self, received: Received, push: Push, asks: tuple[RefreshRepository, ...], trace: Trace
    ) -> Received:
        try:
            async with asyncio.timeout(PUBLISH_SECONDS):
                await self.publish(*asks, message_id=push.identity, trace=trace)
        except (CarrierError, TimeoutError):
            return _ended(received, Outcome.UNAVAILABLE, "the message bus does not answer")
        self.deliveries.note(push.identity)
        return _ended(received, Outcome.ACCEPTED, "the repository is looked at now")


def warn_of_unproven(secrets: Secrets) -> None:
    """Say once at start whose deliveries are believed without proof, and whose are refused."""
    for provider in secrets.believed:
        key = SECRET_KEYS[provider]
        log.warning("webhooks are not verified", provider=provider.value, missing=key)
    for provider in secrets.off:
        key = SECRET_KEYS[provider]
        log.info("webhooks are refused without a secret", provider=provider.value, missing=key)


def _span(received: Received, started: float, trace: Trace, parent: Trace | None) -> FinishedSpan:
    push = received.push
    return FinishedSpan(
        name="webhook",
        trace=trace,
        parent=parent,
        started=started,
        seconds=time.time() - started,
        attributes={
            "gitops.outcome": received.outcome.value,
            "gitops.provider": received.provider,
            "gitops.ref": push.ref if push else "",
            "gitops.revision": push.after if push else "",
        },
        error=received.message if received.outcome is Outcome.UNAVAILABLE else "",
    )


def _ended(received: Received, outcome: Outcome, message: str) -> Received:
    return replace(received, outcome=outcome, message=message)
