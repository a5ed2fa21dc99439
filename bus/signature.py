"""A signature proves that a command was published by this agent, not by another user of the bus.

Every user with publish rights can publish a command. So the publisher adds an HMAC-SHA256 over the
command's content, subject and time; the dispatcher hands no command without it to a handler. Signer
and verifier are one agent, or a standby of it, so one secret key serves both: the key outlives the
process, or a command could not be verified after a crash.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from bus.envelope import Message

HEADER = "gitops-signature"
KEY_BYTES = 32
MAX_AGE = timedelta(days=1)
"""An older signed command is a replay, or too late to be wanted."""
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
        """Say why a command is not accepted; empty where this agent published it."""
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
        """Sign each part after its length, so that no bytes can move from one part to the next."""
        mac = hmac.new(self.secret, _VERSION.encode(), hashlib.sha256)
        texts = (subject, *(headers.get(name, "") for name in _SIGNED_HEADERS))
        for part in (*(text.encode() for text in texts), data):
            mac.update(len(part).to_bytes(8, "big"))
            mac.update(part)
        return f"{_VERSION}:{mac.hexdigest()}"
