"""The logs are one JSON object a line, or coloured text on a terminal, made by structlog.

Every log line passes the redaction of `bus.redaction`: values of fields with a secret's name, user
info in URLs, credentials in texts. The field `secret` is the *name* of a Secret object and stays.
Libraries' `logging` takes the same way, from `warning` on.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any, TextIO

import orjson
import structlog
from structlog.typing import EventDict, Processor

from bus.redaction import HIDDEN, is_sensitive, masked

MASK = HIDDEN
_OPEN_NAMES = frozenset({"secret", "secrets"})
_DEEPEST = 8


def configure(level: str = "info", form: str = "auto", stream: TextIO | None = None) -> None:
    """Configure logging, once and before any other call.

    `form` is json, console, or auto: console on a terminal.
    """
    out = stream or sys.stderr
    console = form == "console" or (form == "auto" and out.isatty())
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*_before(), _renderer(console=console)],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    _capture_libraries(out, console=console, least=max(number, logging.WARNING))


def redact(_: object, __: str, event: EventDict) -> EventDict:
    """Mask secrets wherever they stand in the fields; a structlog processor."""
    return {name: _masked(name, value) for name, value in event.items()}


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


def _capture_libraries(out: TextIO, *, console: bool, least: int) -> None:
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
            return value if name.startswith("_") else masked(value)
        case Mapping():
            return {key: _masked(str(key), inner, depth + 1) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_masked("", inner, depth + 1) for inner in value]
        case None | bool() | int() | float():
            return value
        case _:
            return value if name.startswith("_") else masked(str(value))


def _is_secret_name(name: str) -> bool:
    return is_sensitive(name) and name not in _OPEN_NAMES
