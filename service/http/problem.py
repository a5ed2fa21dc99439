"""Problems as RFC 9457 problem+json: which field, which rule, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from aiohttp import web

from service.access.permissions import phrase

MEDIA = "application/problem+json"
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Of each answer of the API, problem or not."""
_TITLES = {
    400: "The request is not valid",
    401: "Authentication required",
    403: "Permission denied",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timed out",
    409: "Conflict",
    412: "Changed in the meantime",
    413: "Too large",
    415: "Not JSON",
    422: "Refused",
    428: "Version required",
    429: "Too many requests",
    502: "The agent could not complete the task",
    503: "Temporarily unavailable",
    504: "No answer from the agent",
}


class ProblemDetails(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    type: str
    title: str
    status: int
    detail: str = ""
    field: str = ""
    rule: str = ""
    remedy: str = ""
    version: str = ""
    """The current one, where another was expected."""


class ProblemError(Exception):
    """Raised anywhere below a handler; the request's transaction is rolled back."""

    def __init__(
        self, status: int, detail: str, *, headers: Mapping[str, str] | None = None, **more: str
    ) -> None:
        """`more`: field, rule, remedy, version; the title where the status says too little."""
        super().__init__(detail)
        rule = more.get("rule", "")
        title = more.pop("title", _TITLES.get(status, "Error"))
        self.problem = ProblemDetails(
            type=f"urn:gitops:problem:{rule or status}",
            title=title,
            status=status,
            detail=detail,
            **more,
        )
        self.headers = dict(headers or {})


class DeniedError(ProblemError):
    """Also written into the audit. Status 404 where the caller may not know that it exists."""

    def __init__(self, action: str, resource: str, *, status: int = 403, detail: str = "") -> None:
        super().__init__(
            status,
            detail or (_denied(action) if status == 403 else f"there is no {resource}"),
            rule="access" if status == 403 else "not-found",
            remedy="Ask an administrator for a role that allows it." if status == 403 else "",
        )
        self.action = action
        self.resource = resource


def _denied(action: str) -> str:
    """Both in words and by the permission's name: the second is what a role lists."""
    text = phrase(action)
    return f"you do not have permission to {text or action}" + (f" ({action})" if text else "")


def not_found(what: str) -> ProblemError:
    return ProblemError(404, f"there is no {what}", rule="not-found")


def invalid(field: str, detail: str, *, rule: str = "invalid", remedy: str = "") -> ProblemError:
    return ProblemError(422, detail, field=field, rule=rule, remedy=remedy)


def answer(problem: ProblemDetails, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(
        status=problem.status,
        body=msgspec.json.encode(problem),
        content_type=MEDIA,
        headers=dict(headers or {}),
    )
