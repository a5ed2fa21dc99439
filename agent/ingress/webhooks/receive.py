"""A delivery -> what it is: a pure function of headers, body and secrets.

The order matters: which host, then what its headers prove, and only then the body, whose signature
is computed as it comes (`begin`, `Delivery`); `receive` is the same for a body that is whole. Every
way it can end is an Outcome of its own, so that answer, log and metric tell the same story.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from agent.ingress.webhooks import github, gitlab
from agent.ingress.webhooks.push import MalformedPayloadError, Provider, Push, checked
from agent.ingress.webhooks.verify import Secrets, Signature, header_refusal


class Outcome(StrEnum):
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
        """Say whether the sender is told that nothing comes of the delivery because of it or us."""
        return self in _STATUS


_STATUS = {
    Outcome.UNAUTHORIZED: 401,
    Outcome.MALFORMED: 400,
    Outcome.UNKNOWN_PROVIDER: 400,
    Outcome.TOO_LARGE: 413,
    Outcome.UNAVAILABLE: 503,
}

_EVENT_HEADERS = {
    Provider.GITHUB: github.EVENT_HEADER,
    Provider.GITLAB: gitlab.EVENT_HEADER,
}
_PARSERS = {Provider.GITHUB: github.parse, Provider.GITLAB: gitlab.parse}


class Received(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a delivery ended, `message` for the person who reads the host's delivery log."""

    outcome: Outcome
    message: str
    provider: str = ""
    event: str = ""
    """The host's own name for it, where it is not a push."""
    push: Push | None = None


def provider_of(headers: Mapping[str, str]) -> Provider | None:
    """By the header that only this host sends. `headers` have lower-case names."""
    return next((p for p, header in _EVENT_HEADERS.items() if header in headers), None)


def event_of(provider: Provider, headers: Mapping[str, str]) -> str:
    return headers[_EVENT_HEADERS[provider]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A delivery whose headers are good and whose body is still to come."""

    provider: Provider
    headers: Mapping[str, str]
    signature: Signature

    def end(self, body: bytes) -> Received:
        """ACCEPTED with its push, or why not; `signature` was fed with all of `body`."""
        why = self.signature.refusal()
        if why is not None:
            return Received(outcome=Outcome.UNAUTHORIZED, message=why, provider=self.provider)
        return _read(self.provider, self.headers, body)


def begin(headers: Mapping[str, str], secrets: Secrets) -> Delivery | Received:
    """By the headers alone: how the delivery ends already, or that its body may be read."""
    provider = provider_of(headers)
    if provider is None:
        return Received(
            outcome=Outcome.UNKNOWN_PROVIDER,
            message="no X-GitHub-Event or X-Gitlab-Event header: only these hosts are understood",
        )
    why = header_refusal(provider, headers, secrets)
    if why is not None:
        return Received(outcome=Outcome.UNAUTHORIZED, message=why, provider=provider)
    signature = Signature(provider, headers, secrets)
    return Delivery(provider=provider, headers=headers, signature=signature)


def receive(headers: Mapping[str, str], body: bytes, secrets: Secrets) -> Received:
    """ACCEPTED with its push, or why not; whether any application cares is asked later."""
    begun = begin(headers, secrets)
    if isinstance(begun, Received):
        return begun
    begun.signature.feed(body)
    return begun.end(body)


def too_large(limit: int) -> Received:
    return Received(
        outcome=Outcome.TOO_LARGE,
        message=f"the body is larger than {limit} bytes: raise GITOPS_WEBHOOK_BODY_LIMIT,"
        " or rely on polling",
    )


def _read(provider: Provider, headers: Mapping[str, str], body: bytes) -> Received:
    try:
        push = _PARSERS[provider](headers, body)
        push = checked(push) if push is not None else None
    except MalformedPayloadError as e:
        return Received(outcome=Outcome.MALFORMED, message=str(e), provider=provider)
    if push is None:
        return Received(
            outcome=Outcome.IGNORED,
            message="nothing to do for this event: only pushes of branches and tags matter",
            provider=provider,
            event=event_of(provider, headers),
        )
    return Received(outcome=Outcome.ACCEPTED, message="push", provider=provider, push=push)
