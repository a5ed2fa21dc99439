"""Refusals of the link's HTTP routes (RFC 9457), and the rate limit of attempts at them.

A refusal says which rule was broken and what to do; never what was presented. The rate limit is a
bucket per address, kept in memory for each replica: it slows guesses down and keeps hashing cheap.
What protects is the 256-bit token and the key.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import msgspec
import structlog
from aiohttp import web

from bus.http.budget import holder_of
from bus.http.refusals import REFUSALS

log = structlog.get_logger()

SESSION_REMEDY = "Ask for a new challenge; if this goes on, enrol the agent again with a new token."
_PER_SECOND = 50.0
_BURST = 500.0
"""Many agents may come from one address, all at once after an outage."""
_ADDRESSES = 10_000


class LinkRequestRefusedError(Exception):
    """`rule` is a stable word for scripts, `remedy` a sentence for people."""

    def __init__(self, status: int, rule: str, detail: str, remedy: str) -> None:
        super().__init__(detail)
        self.status = status
        self.rule = rule
        self.detail = detail
        self.remedy = remedy


def refusal(request: web.Request, error: LinkRequestRefusedError) -> web.Response:
    """Make the answer to a refused request, which is logged too."""
    body = {
        "type": f"urn:plumbline:link:{error.rule}",
        "title": "The link was refused",
        "status": error.status,
        "detail": error.detail,
        "rule": error.rule,
        "remedy": error.remedy,
    }
    request.app[REFUSALS](
        log.warning,
        "link refused",
        address=request.remote,
        reason=error.rule,
        about={"rule": error.rule, "detail": error.detail},
    )
    return web.Response(
        status=error.status,
        body=msgspec.json.encode(body),
        content_type="application/problem+json",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimiter:
    per_second: float = _PER_SECOND
    burst: float = _BURST
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    """Address, or /64 of IPv6 -> tokens left and when; the least recently seen are forgotten."""

    def admit(self, address: str, now: float) -> None:
        """Count a request of the address; raises LinkRequestRefusedError with status 429."""
        holder = holder_of(address)
        left, at = self._left.pop(holder, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.per_second)
        self._left[holder] = (max(0.0, left - 1), now)
        if len(self._left) > _ADDRESSES:
            self._left.popitem(last=False)
        if left < 1:
            detail = "Too many attempts from this address."
            raise LinkRequestRefusedError(429, "rate", detail, "Wait a second between attempts.")

    def give_back(self, address: str) -> None:
        """Put back what was taken for an attempt that proved itself."""
        holder = holder_of(address)
        known = self._left.get(holder)
        if known is not None:
            self._left[holder] = (min(self.burst, known[0] + 1), known[1])
