"""A webhook provider is a Git host or a registry that sends deliveries, described by one value.

The value holds everything that the agent knows of the provider: the header that names its events,
the keys of its secrets, how a delivery proves where it comes from, and how a body becomes a `Push`.
`providers/` has a module for each; no other module knows a provider by its name, so a new provider
is a new module and a line in `PROVIDERS` (docs/extend/webhook-provider.md).

Where a sender has no header of its own, the address names it: `/api/webhook/quay`. What the address
says stands among the headers, under names that no request can send.

There are two proofs, and both need a shared secret. A signature is the HMAC of the body: it is
computed over the raw bytes while they arrive, before anything in them is parsed. A token is the
secret itself, in a header or, from senders that can set none, as `?token=` of the address: it is
compared before the body is read. All comparisons take the same time whatever
the answer.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.ingress.webhooks.push import Push

PROVIDER_HEADER, TOKEN_HEADER = ":provider", ":token"
"""What the address of a delivery says, beside its headers: no name of a header has a colon."""


@dataclass(frozen=True, slots=True)
class NoPush:
    """An event that brings nothing, but that a person should know of."""

    message: str


Parse = Callable[[Mapping[str, str], bytes], Push | NoPush | None]
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


def bearer_token(value: str, secrets: Sequence[bytes]) -> BodyCheck | None:
    """Verify by the secret itself, as it is or as a bearer's token."""
    bearer = header_token(value.removeprefix("Bearer "), secrets)
    return header_token(value, secrets) or bearer


def addressed(headers: Mapping[str, str], name: str = "", token: str = "") -> Mapping[str, str]:
    """Add to the headers what the address of the delivery says."""
    parts = {PROVIDER_HEADER: name, TOKEN_HEADER: token}
    return {**headers, **{key: value for key, value in parts.items() if value}}


def _same(value: str, expected: bytes) -> bool:
    return hmac.compare_digest(value.encode("utf-8", "surrogateescape"), expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookProvider:
    """Headers are named in lower case."""

    name: str
    """Stands in metrics, logs, answers and `gitops webhook parse`: `github`."""
    title: str
    """The name for people: `GitHub`."""
    event_header: str = ""
    """The header by which a delivery is known as this provider's; empty: by its address alone."""
    proof_header: str
    """The header whose value `verify` checks: a signature of the body, or a token."""
    secret_keys: tuple[str, ...]
    """Keys of `argocd-secret`. The provider has a secret where all of them are set."""
    verify: Verify
    parse: Parse
    marker_header: str = ""
    """A second header that its deliveries have, where another host names events in the same one."""
    events: frozenset[str] = frozenset()
    """Values of the event header that are this provider's, in lower case; empty: every one."""
    names_event: bool = True
    """Whether the value of the event header is the event's name."""

    @property
    def path(self) -> str:
        """The address of its deliveries."""
        return f"/api/webhook/{self.name}"

    @property
    def proof(self) -> str:
        """Where its proof stands, for people."""
        return "?token= of the address" if self.proof_header == TOKEN_HEADER else self.proof_header

    def sends(self, headers: Mapping[str, str]) -> bool:
        """Whether a delivery with these headers is of this provider.

        One that is named by the address needs no event header, unless it names the event.
        """
        named = headers.get(PROVIDER_HEADER)
        if named is not None and (named != self.name or not self.names_event):
            return named == self.name
        value = headers.get(self.event_header)
        if value is None or self.marker_header not in ("", *headers):
            return False
        return not self.events or value.partition(";")[0].strip().lower() in self.events

    def event_of(self, headers: Mapping[str, str]) -> str:
        """Return the provider's own name for the event; empty where no header has it."""
        return headers[self.event_header] if self.names_event else ""
