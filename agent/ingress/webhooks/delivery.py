"""A webhook delivery is classified by its headers, its body and the secrets, without I/O.

The order matters: first the provider, then what the headers prove, and only then the body, which is
checked while it arrives (`begin`, `WebhookDelivery`). `receive` does the same with a complete body.
Each way in which a delivery ends is a DeliveryOutcome, so that answer, log and metric agree.
DeliveryMemory knows the last deliveries, so that a repeated one costs no work.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from agent.ingress.webhooks.provider import BodyCheck, NoPush, WebhookProvider
from agent.ingress.webhooks.providers import PROVIDERS, provider_titles
from agent.ingress.webhooks.push import MalformedPayloadError, Push, checked
from agent.ingress.webhooks.webhook_secrets import (
    UnprovenDeliveryError,
    WebhookSecrets,
    mismatch,
    verify_headers,
)

DEFAULT_CAPACITY = 10_000


class DeliveryOutcome(StrEnum):
    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    TOUCHES_NOTHING = "touches_nothing"
    IGNORED = "ignored"
    UNAUTHORIZED = "unauthorized"
    MALFORMED = "malformed"
    UNKNOWN_PROVIDER = "unknown_provider"
    TOO_LARGE = "too_large"
    UNAVAILABLE = "unavailable"

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return _STATUS.get(self, 200)

    @property
    def is_refusal(self) -> bool:
        """Tell whether the delivery is answered with an error, be it the sender's fault or ours."""
        return self in _STATUS


_STATUS = {
    DeliveryOutcome.UNAUTHORIZED: 401,
    DeliveryOutcome.MALFORMED: 400,
    DeliveryOutcome.UNKNOWN_PROVIDER: 400,
    DeliveryOutcome.TOO_LARGE: 413,
    DeliveryOutcome.UNAVAILABLE: 503,
}


class ReceivedDelivery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of a delivery; `message` is for the reader of the provider's delivery log."""

    outcome: DeliveryOutcome
    message: str
    provider: str = ""
    event: str = ""
    """The provider's own name for the event, where it is not a push."""
    push: Push | None = None


def provider_of(headers: Mapping[str, str]) -> WebhookProvider | None:
    """Find the provider by its event header. `headers` have lower-case names."""
    return next((provider for provider in PROVIDERS if provider.sends(headers)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDelivery:
    """A delivery whose headers are accepted and whose body is still to come."""

    provider: WebhookProvider
    headers: Mapping[str, str]
    body_check: BodyCheck

    def end(self, body: bytes) -> ReceivedDelivery:
        """Return ACCEPTED with the push, or the refusal; `body_check` was fed with the body."""
        if not self.body_check.passes():
            return _unauthorized(self.provider, mismatch(self.provider))
        return _read(self.provider, self.headers, body)


def begin(
    headers: Mapping[str, str], secrets: WebhookSecrets
) -> WebhookDelivery | ReceivedDelivery:
    """Decide by the headers alone: the delivery ends here, or its body may be read."""
    provider = provider_of(headers)
    if provider is None:
        return _unknown_provider()
    try:
        check = verify_headers(provider, headers, secrets)
    except UnprovenDeliveryError as e:
        return _unauthorized(provider, str(e))
    return WebhookDelivery(provider=provider, headers=headers, body_check=check)


def receive(headers: Mapping[str, str], body: bytes, secrets: WebhookSecrets) -> ReceivedDelivery:
    """Return ACCEPTED with the push, or the refusal; no Application is looked up yet."""
    begun = begin(headers, secrets)
    if isinstance(begun, ReceivedDelivery):
        return begun
    begun.body_check.feed(body)
    return begun.end(body)


def too_large(limit: int) -> ReceivedDelivery:
    return ReceivedDelivery(
        outcome=DeliveryOutcome.TOO_LARGE,
        message=f"the body is larger than {limit} bytes: raise GITOPS_WEBHOOK_BODY_LIMIT,"
        " or rely on polling",
    )


def _unknown_provider() -> ReceivedDelivery:
    headers = dict.fromkeys(it.event_header for it in PROVIDERS if it.event_header)
    paths = " or ".join(it.path for it in PROVIDERS if not it.event_header)
    return ReceivedDelivery(
        outcome=DeliveryOutcome.UNKNOWN_PROVIDER,
        message=f"no {' or '.join(headers)} header, and not sent to {paths}: only webhooks of"
        f" {provider_titles()} are understood",
    )


def _unauthorized(provider: WebhookProvider, message: str) -> ReceivedDelivery:
    return ReceivedDelivery(
        outcome=DeliveryOutcome.UNAUTHORIZED, message=message, provider=provider.name
    )


def _read(provider: WebhookProvider, headers: Mapping[str, str], body: bytes) -> ReceivedDelivery:
    try:
        found = provider.parse(headers, body)
        push = checked(found) if isinstance(found, Push) else None
    except MalformedPayloadError as e:
        return ReceivedDelivery(
            outcome=DeliveryOutcome.MALFORMED, message=str(e), provider=provider.name
        )
    if push is None:
        nothing = "nothing to do for this event: only pushes of branches and tags matter"
        return ReceivedDelivery(
            outcome=DeliveryOutcome.IGNORED,
            message=found.message if isinstance(found, NoPush) else nothing,
            provider=provider.name,
            event=provider.event_of(headers),
        )
    return ReceivedDelivery(
        outcome=DeliveryOutcome.ACCEPTED, message="push", provider=provider.name, push=push
    )


class DeliveryMemory:
    """DeliveryMemory remembers the last deliveries by identity, and forgets the oldest first.

    It saves work when a host sends again; repeats are harmless anyway, because asks are. A
    delivery is noted only after its asks are on the bus, so that a failed publish can be sent
    again.
    """

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self._capacity = capacity
        self._taken: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, identity: str) -> bool:
        return bool(identity) and identity in self._taken

    def note(self, identity: str) -> None:
        if not identity:
            return
        self._taken[identity] = None
        self._taken.move_to_end(identity)
        while len(self._taken) > self._capacity:
            self._taken.popitem(last=False)
