"""How commands speak: answers on standard output, everything else on standard error."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NoReturn

import msgspec
import typer

from cli.unread import end_unread


class Exit(IntEnum):
    FINE = 0
    NO = 1
    """The question was answered, and the answer is no: it differs, it cannot be reached."""
    BAD_INPUT = 2
    REFUSED = 3
    """The service cannot be reached, or it refused."""
    FORBIDDEN = 4
    """Not logged in, or not allowed."""
    TIMEOUT = 5
    """What was waited for did not come in time."""
    INTERRUPTED = 130


def as_it_comes() -> None:
    """Each line leaves at once, also into a pipe; what adapters log goes to standard error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    from agent.observe.logs import configure  # noqa: PLC0415  a tenth of a second for those who log

    configure("warning", "auto", sys.stderr)


def line(answer: Mapping[str, object]) -> None:
    """One line of JSON."""
    text(msgspec.json.encode(answer).decode())


def lines(answers: Iterable[Mapping[str, object]]) -> None:
    for answer in answers:
        line(answer)


def text(answer: str) -> None:
    try:
        sys.stdout.write(answer + "\n")
    except BrokenPipeError:
        end_unread()


def raw(block: bytes) -> None:
    """Bytes that are lines already."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(block)
    except BrokenPipeError:
        end_unread()


def complain(problem: str) -> None:
    sys.stderr.write(f"gitops: {problem}\n")


def stop(problem: str, code: Exit = Exit.BAD_INPUT) -> NoReturn:
    complain(problem)
    raise typer.Exit(code)
