"""Signature: which commands were published by this agent, and not by somebody else on the bus.

Whoever may publish on a bus may publish a command. So the publisher adds an HMAC-SHA256 over what
the command says, where it was sent and when; the dispatcher hands no command to a handler that does
not carry it. Signer and verifier are one agent, or a standby of it, so one secret key serves both:
it outlives the process, or a command could not be verified after a crash.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from bus.codec import Message

HEADER = "gitops-signature"
KEY_BYTES = 32
MAX_AGE = timedelta(days=1)
"""A signed command that is older is a repeat that somebody kept, or nobody's wish any more."""
_VERSION = "v1"
_SIGNED_HEADERS = ("ce-id", "ce-type", "ce-time")


@dataclass(frozen=True, slots=True)
class CommandKey:
    """The secret key of one agent; without a key nothing is signed and nothing is accepted."""

    secret: bytes = field(default=b"", repr=False)

    def sign(self, message: Message) -> Message:
        if not self.secret:
            return message
        signature = self._signature(message.subject, message.headers, message.data)
        return replace(message, headers={**message.headers, HEADER: signature})

    def refusal(self, subject: str, headers: Mapping[str, str], data: bytes, sent: datetime) -> str:
        """Why a command is not taken; empty where this agent published it."""
        if not self.secret:
            return "this process has no key to verify commands with"
        found = headers.get(HEADER)
        if not found:
            return "it carries no signature of this agent"
        expected = self._signature(subject, headers, data)
        if not hmac.compare_digest(found.encode(), expected.encode()):
            return "its signature is not this agent's"
        if datetime.now(UTC) - sent > MAX_AGE:
            return f"it was signed at {sent.isoformat()}, more than {MAX_AGE.days} day ago"
        return ""

    def _signature(self, subject: str, headers: Mapping[str, str], data: bytes) -> str:
        """Each part with its length before it, so that none can borrow from its neighbour."""
        mac = hmac.new(self.secret, _VERSION.encode(), hashlib.sha256)
        texts = (subject, *(headers.get(name, "") for name in _SIGNED_HEADERS))
        for part in (*(text.encode() for text in texts), data):
            mac.update(len(part).to_bytes(8, "big"))
            mac.update(part)
        return f"{_VERSION}:{mac.hexdigest()}"
