"""Refusals of the link's HTTP routes, as application/problem+json (RFC 9457).

A refusal says which rule was broken and what to do; never what was presented.
"""

from __future__ import annotations

import msgspec
import structlog
from aiohttp import web

from bus.http.refusals import REFUSALS

log = structlog.get_logger()


class LinkRefusedError(Exception):
    """`rule` is a stable word for scripts, `remedy` a sentence for people."""

    def __init__(self, status: int, rule: str, detail: str, remedy: str) -> None:
        super().__init__(detail)
        self.status = status
        self.rule = rule
        self.detail = detail
        self.remedy = remedy


def refusal(request: web.Request, error: LinkRefusedError) -> web.Response:
    """The answer to the request, which is logged too."""
    body = {
        "type": f"urn:gitops-house:link:{error.rule}",
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
