"""Logs: structlog, one JSON object a line, or coloured text on a terminal.

Everything that is logged passes one redaction: values of fields whose name says secret, user info
in URLs, and authorization headers in texts. The field `secret` is the *name* of a Secret object and
stays. What libraries say through `logging` takes the same way, from `warning` on.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TextIO

import orjson
import structlog
from structlog.typing import EventDict, Processor

from handlers.manifest.redact import redact_text

MASK = "***"
_SECRET_NAME = re.compile(
    r"authorization|passw|token|bearer|api[-_]?key|private[-_]?key|cookie|credentials?$|.[-_]secret",
    re.IGNORECASE,
)
_SECRET_TEXT = re.compile(
    r"(?P<before>\b(?:bearer|basic)\s+|\b(?:password|passwd|\w*token|\w+[-_]secret|api[-_]?key)\s*[=:]\s*)"
    r"[^\s\"',;&]+",
    re.IGNORECASE,
)
_MARKS = ("bearer", "basic", "passw", "token", "secret", "api")
"""A text of ASCII without any of these, in whatever case, says no secret by name."""
_DEEPEST = 8
_NAMES_KNOWN = 4096


def configure(level: str = "info", form: str = "auto", stream: TextIO | None = None) -> None:
    """`form`: json, console, or auto (console on a terminal). To be called once, first of all."""
    out = stream or sys.stderr
    console = form == "console" or (form == "auto" and out.isatty())
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*_before(), _renderer(console=console)],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    _take_in_libraries(out, console=console, least=max(number, logging.WARNING))


def redact(_: object, __: str, event: EventDict) -> EventDict:
    """The processor: masks secrets wherever they stand in the fields."""
    return {name: _masked(name, value) for name, value in event.items()}


def redact_secrets(text: str) -> str:
    """The dear pattern is tried only where one of its words stands: every field comes here."""
    text = redact_text(text) if "://" in text else text
    if text.isascii():
        lowered = text.lower()
        if not any(mark in lowered for mark in _MARKS):
            return text
    return _SECRET_TEXT.sub(rf"\g<before>{MASK}", text)


def _before() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        redact,
    ]


def _renderer(*, console: bool) -> Processor:
    if console:
        return structlog.dev.ConsoleRenderer()
    return structlog.processors.JSONRenderer(serializer=_json)


def _json(event: Any, **_: Any) -> str:
    return orjson.dumps(event, default=str).decode()


def _take_in_libraries(out: TextIO, *, console: bool, least: int) -> None:
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *_before()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _renderer(console=console),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(least)


def _masked(name: str, value: object, depth: int = 0) -> object:
    if depth > _DEEPEST or _is_secret_name(name):
        return MASK
    match value:
        case str():
            return value if name.startswith("_") else redact_secrets(value)
        case Mapping():
            return {key: _masked(str(key), inner, depth + 1) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_masked("", inner, depth + 1) for inner in value]
        case None | bool() | int() | float():
            return value
        case _:
            return value if name.startswith("_") else redact_secrets(str(value))


@lru_cache(maxsize=_NAMES_KNOWN)
def _is_secret_name(name: str) -> bool:
    """The names of fields are few and come again with every line."""
    return _SECRET_NAME.search(name) is not None and not name.endswith("_file")
