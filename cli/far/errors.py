"""What can go wrong between us and the service, as a sentence and an exit code.

The service says its refusals as problem+json: what happened, in which field, and what to do. People
get that as sentences; the code tells a pipeline which kind it was.
"""

from __future__ import annotations

import msgspec

from cli.far.text import clean
from cli.say import Exit

_UNAUTHENTICATED, _NOT_FOUND, _GATEWAY_TIMEOUT = 401, 404, 504
_CODES = {
    _UNAUTHENTICATED: Exit.FORBIDDEN,
    403: Exit.FORBIDDEN,
    _NOT_FOUND: Exit.BAD_INPUT,
    422: Exit.BAD_INPUT,
    _GATEWAY_TIMEOUT: Exit.TIMEOUT,
}


class FarError(Exception):
    """Ends the command: the sentence goes to standard error."""

    def __init__(self, sentence: str, code: Exit = Exit.REFUSED) -> None:
        super().__init__(sentence)
        self.code = code


class NotFoundError(FarError):
    """The service knows no such thing, or does not tell us of it."""


class UnauthenticatedError(FarError):
    """The service does not know who asks. `detail`: as it says it, without what to do."""

    def __init__(self, sentence: str, detail: str) -> None:
        super().__init__(sentence, Exit.FORBIDDEN)
        self.detail = detail


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """RFC 9457, as much of it as we tell."""

    status: int = 0
    title: str = ""
    detail: str = ""
    field: str = ""
    rule: str = ""
    remedy: str = ""


def error_of(status: int, raw: bytes) -> FarError:
    """Of an answer that is no success."""
    try:
        problem = msgspec.json.decode(raw, type=Problem)
    except msgspec.DecodeError:
        problem = Problem(title=f"the service answered {status}, and not in its own words")
    if status == _UNAUTHENTICATED:
        return UnauthenticatedError(sentence(problem, status), clean(problem.detail))
    kind = NotFoundError if status == _NOT_FOUND else FarError
    return kind(sentence(problem, status), _CODES.get(status, Exit.REFUSED))


def sentence(problem: Problem, status: int) -> str:
    """As in `expected a name (field name). Choose another name.`, without what is not known."""
    said = clean(problem.detail or problem.title or f"the service answered {status}")
    if status == _UNAUTHENTICATED:
        return "the login has ended, or its token is no more valid. Log in: gitops login URL"
    said += f" (field {clean(problem.field)})" if problem.field else ""
    remedy = clean(problem.remedy)
    return f"{said.rstrip('.')}. {remedy}".strip() if remedy else said
