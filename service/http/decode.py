"""Decoding of a request's query or body into a typed value; a problem names field and rule."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from bus.http.body import BodyError, BodyProblem, read_body
from service.http.fields import NAME_PATTERN
from service.http.problem import ProblemError

BODY_LIMIT = 1 << 20
_PATH = re.compile(r" - at `(?:key in )?\$\.?([^`]*)`$")
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_MISSING = re.compile(r"required field `([^`]*)`")
_REGEX = re.compile(r"Expected `str` matching regex '(.*)'")
_LONGEST = re.compile(r"Expected `str` of length <= (\d+)")
_WORDS = {
    NAME_PATTERN: (
        "expected a name of at most 63 small letters, digits and hyphens,"
        " a letter or digit at both ends"
    )
}
"""What a pattern wants, for people."""
_DEEPEST = 64
_RULES = {
    BodyProblem.TOO_LARGE: "size",
    BodyProblem.LATE: "slow",
    BodyProblem.OVERLOADED: "busy",
    BodyProblem.CUT: "cut",
}
_REMEDIES = {
    BodyProblem.TOO_LARGE: "Send less at once.",
    BodyProblem.LATE: "Send it faster, or less at once.",
    BodyProblem.OVERLOADED: "Try again in a moment.",
    BodyProblem.CUT: "Send as much as Content-Length says.",
}

T = TypeVar("T")


def body_of(request: web.Request, raw: bytes, model: type[T]) -> T:
    """Decode the request's body, which was read before."""
    if raw and request.content_type != "application/json":
        raise ProblemError(
            415, "expected application/json", rule="media-type", remedy="Set Content-Type."
        )
    try:
        plain = msgspec.json.decode(raw or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise ProblemError(400, f"the body is not JSON: {e}", rule="json") from e
    _check_text(plain)
    return convert(plain, model)


def query_of(request: web.Request, model: type[T]) -> T:
    """Each field once; numbers and booleans are read from their text."""
    plain: dict[str, str] = {}
    for name, value in request.query.items():
        if name in plain:
            raise ProblemError(
                400, f"{name} is given twice", field=name, rule="once", remedy="Give it once."
            )
        plain[name] = value
    _check_text(plain)
    return convert(plain, model, strict=False)


def convert(plain: Any, model: type[T], *, strict: bool = True) -> T:
    try:
        return msgspec.convert(plain, model, strict=strict)
    except msgspec.ValidationError as e:
        raise _problem(str(e)) from e


async def read(request: web.Request) -> bytes:
    """Read the request's body, within the budget of bodies. Raises ProblemError."""
    try:
        return await read_body(request, BODY_LIMIT)
    except BodyError as error:
        problem, message = error.problem, str(error)
    if problem is BodyProblem.TOO_LARGE:
        message = "the body is larger than 1 MiB"
    headers = {"Retry-After": "1"} if problem is BodyProblem.OVERLOADED else {}
    raise ProblemError(
        problem.status, message, rule=_RULES[problem], remedy=_REMEDIES[problem], headers=headers
    )


def _check_text(value: Any) -> None:
    """PostgreSQL holds no NUL in a text, and nothing here needs one."""
    for path, text in texts(value):
        if "\0" in text or "\0" in path:
            raise ProblemError(
                400, "it contains a NUL character", field=path.replace("\0", ""), rule="text"
            )
        if any("\ud800" <= it <= "\udfff" for it in text):
            raise ProblemError(400, "it is not valid Unicode", field=path, rule="text")


def texts(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every text in it with the path to it; keys are part of the path."""
    if depth > _DEEPEST:
        raise ProblemError(400, "nested too deep", field=path[:200], rule="depth")
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, it in value.items():
            yield from texts(it, f"{path}.{key}" if path else str(key), depth + 1)
            yield f"{path}.{key}", ""
    elif isinstance(value, list):
        for number, it in enumerate(value):
            yield from texts(it, f"{path}[{number}]", depth + 1)


def _problem(message: str) -> ProblemError:
    at = _PATH.search(message)
    path = at.group(1) if at else ""
    named = _UNKNOWN.search(message) or _MISSING.search(message)
    field = ".".join(it for it in (path, named.group(1) if named else "") if it)
    rule = "unknown-field" if _UNKNOWN.search(message) else "type"
    remedy = "See /api/v1/openapi.json for the fields and their types."
    detail = _in_words(_PATH.sub("", message))
    return ProblemError(422, detail, field=field, rule=rule, remedy=remedy)


def _in_words(detail: str) -> str:
    if model := _REGEX.fullmatch(detail):
        return _WORDS.get(model[1], detail)
    if most := _LONGEST.fullmatch(detail):
        return f"expected a text of at most {most[1]} characters"
    return detail
