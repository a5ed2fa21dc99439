"""DeliveryIntake publishes the asks of a webhook delivery and begins the trace of its push.

The pure parts are in webhooks/; the intake joins them to the bus and the index. A burst of pushes
to one repository becomes one ask: simultaneous ones share a publish, and the bus merges asks of one
subject. The host gets a JSON answer: what happened, and what to do where it failed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec
import structlog
from msgspec.structs import replace

from agent.ingress.pending_asks import SharedPublish
from agent.ingress.webhooks.delivery import (
    DeliveryMemory,
    DeliveryOutcome,
    ReceivedDelivery,
    WebhookDelivery,
    begin,
)
from agent.ingress.webhooks.providers import provider_titles
from agent.ingress.webhooks.push import AppsOfRepository, Push, touched
from agent.ingress.webhooks.webhook_secrets import WebhookSecrets, key_names
from bus.carrier import CarrierError
from bus.events import RefreshRepository
from bus.spans import FinishedSpan, Spans, SpanType
from bus.trace import Trace

log = structlog.get_logger()

PUBLISH_SECONDS = 8.0
"""GitHub gives up after ten."""
_REMEDY = {
    DeliveryOutcome.UNAUTHORIZED: "Set the same secret at the host and in argocd-secret.",
    DeliveryOutcome.MALFORMED: "Send the host's own JSON payload unchanged.",
    DeliveryOutcome.UNKNOWN_PROVIDER: (f"Send webhooks of {provider_titles()} to this address."),
    DeliveryOutcome.TOO_LARGE: (
        "Raise GITOPS_WEBHOOK_BODY_LIMIT; meanwhile polling finds the commit."
    ),
    DeliveryOutcome.UNAVAILABLE: "Send it again; meanwhile polling finds the commit.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryIntake:
    """Turns a received delivery into its outcome and the answer to the sender."""

    apps: AppsOfRepository
    publish: SharedPublish
    secrets: Callable[[], WebhookSecrets]
    """Called for each delivery, so that a rotated secret counts at once."""
    parts: Callable[[tuple[RefreshRepository, ...]], tuple[RefreshRepository, ...]] = tuple
    """Splits the asks, where several replicas divide the work."""
    spans: Spans = field(default_factory=Spans)
    deliveries: DeliveryMemory = field(default_factory=DeliveryMemory)

    def begin(self, headers: Mapping[str, str]) -> WebhookDelivery | ReceivedDelivery:
        """Decide by the headers alone: the delivery is refused, or its body may be read."""
        return begin(headers, self.secrets())

    async def __call__(
        self, headers: Mapping[str, str], received: ReceivedDelivery
    ) -> tuple[ReceivedDelivery, DeliveryAnswer]:
        """Publish the asks of a push; answer any other delivery."""
        if received.push is None:
            return received, answer(received)
        parent = Trace.parse(headers.get("traceparent", ""), headers.get("tracestate", ""))
        trace, started = self.spans.sampler.span(parent), time.time()
        ended = await self._take(received, received.push, trace)
        self.spans.record(_span(ended[0], started, trace, parent))
        return ended

    async def _take(
        self, received: ReceivedDelivery, push: Push, trace: Trace
    ) -> tuple[ReceivedDelivery, DeliveryAnswer]:
        asks = touched(push, self.apps)
        if push.identity in self.deliveries:
            received = _ended(received, DeliveryOutcome.DUPLICATE, "this delivery was taken before")
        elif not asks:
            received = _ended(
                received,
                DeliveryOutcome.TOUCHES_NOTHING,
                "no Application uses this repository and ref",
            )
        else:
            received = await self._publish(received, push, asks, trace)
        urls = tuple(str(ask.repository) for ask in asks)
        return received, answer(
            received, urls if received.outcome is DeliveryOutcome.ACCEPTED else ()
        )

    async def _publish(
        self,
        received: ReceivedDelivery,
        push: Push,
        asks: tuple[RefreshRepository, ...],
        trace: Trace,
    ) -> ReceivedDelivery:
        try:
            async with asyncio.timeout(PUBLISH_SECONDS):
                await self.publish(self.parts(asks), message_id=push.identity, trace=trace)
        except (CarrierError, TimeoutError):
            return _ended(received, DeliveryOutcome.UNAVAILABLE, "the message bus does not answer")
        self.deliveries.note(push.identity)
        return _ended(received, DeliveryOutcome.ACCEPTED, "the repository is looked at now")


def warn_of_unproven(secrets: WebhookSecrets) -> None:
    """Log at start which providers are believed without proof, and which are refused."""
    for provider in secrets.believed:
        missing = key_names(provider)
        log.warning("webhooks are not verified", provider=provider.name, missing=missing)
    for provider in secrets.off:
        missing = key_names(provider)
        log.info("webhooks are refused without a secret", provider=provider.name, missing=missing)


def _span(
    received: ReceivedDelivery, started: float, trace: Trace, parent: Trace | None
) -> FinishedSpan:
    push = received.push
    return FinishedSpan(
        name="webhook",
        type=SpanType.SERVER,
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
        error=received.message if received.outcome is DeliveryOutcome.UNAVAILABLE else "",
    )


def _ended(received: ReceivedDelivery, outcome: DeliveryOutcome, message: str) -> ReceivedDelivery:
    return replace(received, outcome=outcome, message=message)


class DeliveryAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`repositories` are the URLs of the repositories that are refreshed now."""

    outcome: DeliveryOutcome
    message: str
    remedy: str = ""
    delivery: str = ""
    ref: str = ""
    repositories: tuple[str, ...] = ()


def answer(received: ReceivedDelivery, repositories: tuple[str, ...] = ()) -> DeliveryAnswer:
    push = received.push
    return DeliveryAnswer(
        outcome=received.outcome,
        message=received.message,
        remedy=_REMEDY.get(received.outcome, ""),
        delivery=push.delivery if push else "",
        ref=push.ref if push else "",
        repositories=repositories,
    )
