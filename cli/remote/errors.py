"""Errors between the command line and the service, each a sentence and an exit code.

The service refuses with problem+json: what happened, in which field, and what to do. People get
sentences of it; the exit code tells a pipeline which kind it was.
"""

from __future__ import annotations

import msgspec

from cli.output import Exit
from cli.remote.formatting import clean

_UNAUTHENTICATED, _NOT_FOUND, _GATEWAY_TIMEOUT = 401, 404, 504
_CODES = {
    _UNAUTHENTICATED: Exit.FORBIDDEN,
    403: Exit.FORBIDDEN,
    _NOT_FOUND: Exit.BAD_INPUT,
    422: Exit.BAD_INPUT,
    _GATEWAY_TIMEOUT: Exit.TIMEOUT,
}


class ServiceError(Exception):
    """An error that ends the command; its sentence goes to standard error."""

    def __init__(self, sentence: str, code: Exit = Exit.REFUSED) -> None:
        super().__init__(sentence)
        self.code = code


class ServiceNotFoundError(ServiceError):
    """The service has no such object, or the caller may not see it."""


class NotLoggedInError(ServiceError):
    """The service does not know the caller; `detail` is the service's reason."""

    def __init__(self, sentence: str, detail: str) -> None:
        super().__init__(sentence, Exit.FORBIDDEN)
        self.detail = detail


class ServiceProblem(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of RFC 9457 problem details that are shown."""

    status: int = 0
    title: str = ""
    detail: str = ""
    field: str = ""
    rule: str = ""
    remedy: str = ""


def error_of(status: int, raw: bytes) -> ServiceError:
    """Make the error of an answer whose status is no success."""
    try:
        problem = msgspec.json.decode(raw, type=ServiceProblem)
    except msgspec.DecodeError:
        problem = ServiceProblem(title=f"the service answered {status}, and not in its own words")
    if status == _UNAUTHENTICATED:
        return NotLoggedInError(sentence(problem, status), clean(problem.detail))
    kind = ServiceNotFoundError if status == _NOT_FOUND else ServiceError
    return kind(sentence(problem, status), _CODES.get(status, Exit.REFUSED))


def sentence(problem: ServiceProblem, status: int) -> str:
    """Format a problem like this: expected a name (field name). Choose another name."""
    text = clean(problem.detail or problem.title or f"the service answered {status}")
    if status == _UNAUTHENTICATED:
        return "the login has ended, or its token is no more valid. Log in: gitops login URL"
    text += f" (field {clean(problem.field)})" if problem.field else ""
    remedy = clean(problem.remedy)
    return f"{text.rstrip('.')}. {remedy}".strip() if remedy else text
