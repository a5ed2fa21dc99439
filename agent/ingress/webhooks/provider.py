"""A webhook provider is a Git host or a registry that sends deliveries, described by one value.

The value holds everything that the agent knows of the provider: the header that names its events,
the keys of its secrets, how a delivery proves where it comes from, and how a body becomes a `Push`.
`providers/` has a module for each; no other module knows a provider by its name, so a new provider
is a new module and a line in `PROVIDERS` (docs/extend/webhook-provider.md).

There are two proofs, and both need a shared secret. A signature is the HMAC of the body: it is
computed over the raw bytes while they arrive, before anything in them is parsed. A token is the
secret itself: it is compared before the body is read. All comparisons take the same time whatever
the answer.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.ingress.webhooks.push import Push

Parse = Callable[[Mapping[str, str], bytes], Push | None]
"""(headers with lower-case names, body) -> the push; None for an event that brings no commits.

Raises MalformedPayloadError."""


class BodyCheck(Protocol):
    """The check of one body while it arrives."""

    def feed(self, chunk: bytes) -> None: ...

    def passes(self) -> bool:
        """Decide by all that was fed whether the provider sent this body."""
        ...


Verify = Callable[[str, Sequence[bytes]], BodyCheck | None]
"""(value of the proof header, values of the provider's secret keys in their order) -> the check of
the body that follows; None where the header alone shows that the provider did not send it."""


class NoBodyCheck:
    """A body that needs no proof: the header was the proof, or the provider has no secret."""

    def feed(self, chunk: bytes) -> None:
        """Ignore `chunk`."""

    def passes(self) -> bool:
        return True


class HmacCheck:
    """The header's value is `prefix` and the hexadecimal HMAC-SHA256 of the body."""

    def __init__(self, value: str, secret: bytes, prefix: str) -> None:
        self._value = value
        self._prefix = prefix
        self._hmac = hmac.new(secret, digestmod=hashlib.sha256)

    def feed(self, chunk: bytes) -> None:
        self._hmac.update(chunk)

    def passes(self) -> bool:
        return _same(self._value, (self._prefix + self._hmac.hexdigest()).encode())


def body_signature(*, prefix: str = "") -> Verify:
    """Verify by an HMAC-SHA256 of the body, written after `prefix`."""

    def verify(value: str, secrets: Sequence[bytes]) -> BodyCheck:
        (secret,) = secrets
        return HmacCheck(value, secret, prefix)

    return verify


def header_token(value: str, secrets: Sequence[bytes]) -> BodyCheck | None:
    """Verify by the secret itself, which the provider sends as the header's value."""
    (secret,) = secrets
    return NoBodyCheck() if _same(value, secret) else None


def _same(value: str, expected: bytes) -> bool:
    return hmac.compare_digest(value.encode("utf-8", "surrogateescape"), expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookProvider:
    """Headers are named in lower case."""

    name: str
    """Stands in metrics, logs, answers and `gitops webhook parse`: `github`."""
    title: str
    """The name for people: `GitHub`."""
    event_header: str
    """The header by which a delivery is known as this provider's."""
    proof_header: str
    """The header whose value `verify` checks: a signature of the body, or a token."""
    secret_keys: tuple[str, ...]
    """Keys of `argocd-secret`. The provider has a secret where all of them are set."""
    verify: Verify
    parse: Parse
    marker_header: str = ""
    """A second header that its deliveries have, where another host names events in the same one."""
    names_event: bool = True
    """Whether the value of the event header is the event's name."""

    def sends(self, headers: Mapping[str, str]) -> bool:
        """Whether a delivery with these headers is of this provider."""
        return self.event_header in headers and self.marker_header in ("", *headers)

    def event_of(self, headers: Mapping[str, str]) -> str:
        """Return the provider's own name for the event; empty where no header has it."""
        return headers[self.event_header] if self.names_event else ""
