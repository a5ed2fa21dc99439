"""A delivery -> what it is: a pure function of headers, body and secrets.

The order matters: which host, then its signature, and only then the body. Every way it can end is
an Outcome of its own, so that answer, log and metric tell the same story.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from agent.ingress.webhooks import github, gitlab
from agent.ingress.webhooks.push import MalformedPayloadError, Provider, Push
from agent.ingress.webhooks.verify import Secrets, refusal


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


def receive(headers: Mapping[str, str], body: bytes, secrets: Secrets) -> Received:
    """ACCEPTED with its push, or why not; whether any application cares is asked later."""
    provider = provider_of(headers)
    if provider is None:
        return Received(
            outcome=Outcome.UNKNOWN_PROVIDER,
            message="no X-GitHub-Event or X-Gitlab-Event header: only these hosts are understood",
        )
    why = refusal(provider, headers, body, secrets)
    if why is not None:
        return Received(outcome=Outcome.UNAUTHORIZED, message=why, provider=provider)
    return _read(provider, headers, body)


def too_large(limit: int) -> Received:
    return Received(
        outcome=Outcome.TOO_LARGE,
        message=f"the body is larger than {limit} bytes: raise GITOPS_WEBHOOK_BODY_LIMIT,"
        " or rely on polling",
    )


def _read(provider: Provider, headers: Mapping[str, str], body: bytes) -> Received:
    try:
        push = _PARSERS[provider](headers, body)
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
