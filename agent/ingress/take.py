"""Taking a delivery: decide what it is, publish the asks, remember it.

The pure parts are in webhooks/; here they meet the bus and the index. A burst of pushes to one
repository becomes one ask: asks of one subject are merged on the bus.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from agent.ingress.answer import Answer, answer
from agent.ingress.timer import Publish
from agent.ingress.webhooks.deliveries import Deliveries
from agent.ingress.webhooks.push import Push
from agent.ingress.webhooks.receive import Outcome, Received, receive
from agent.ingress.webhooks.touch import AppsOfRepository, touched
from agent.ingress.webhooks.verify import Secrets
from bus.carrier import CarrierError
from bus.events import RefreshRepository

PUBLISH_SECONDS = 8.0
"""GitHub gives up after ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeDelivery:
    """Headers and body of a request -> what happened, and what the sender is told."""

    apps: AppsOfRepository
    publish: Publish
    secrets: Callable[[], Secrets]
    """Asked for each delivery, so that a rotated secret counts at once."""
    deliveries: Deliveries = field(default_factory=Deliveries)

    async def __call__(self, headers: Mapping[str, str], body: bytes) -> tuple[Received, Answer]:
        received = receive(headers, body, self.secrets())
        if received.push is None:
            return received, answer(received)
        return await self._take(received, received.push)

    async def _take(self, received: Received, push: Push) -> tuple[Received, Answer]:
        asks = touched(push, self.apps)
        if push.identity in self.deliveries:
            received = _ended(received, Outcome.DUPLICATE, "this delivery was taken before")
        elif not asks:
            received = _ended(
                received, Outcome.TOUCHES_NOTHING, "no Application uses this repository and ref"
            )
        else:
            received = await self._publish(received, push, asks)
        urls = tuple(str(ask.repository) for ask in asks)
        return received, answer(received, urls if received.outcome is Outcome.ACCEPTED else ())

    async def _publish(
        self, received: Received, push: Push, asks: tuple[RefreshRepository, ...]
    ) -> Received:
        try:
            async with asyncio.timeout(PUBLISH_SECONDS):
                await self.publish(*asks, message_id=push.identity)
        except (CarrierError, TimeoutError):
            return _ended(received, Outcome.UNAVAILABLE, "the message bus does not answer")
        self.deliveries.note(push.identity)
        return _ended(received, Outcome.ACCEPTED, "the repository is looked at now")


def _ended(received: Received, outcome: Outcome, message: str) -> Received:
    return replace(received, outcome=outcome, message=message)
