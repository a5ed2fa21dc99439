"""Output of commands: answers on standard output, everything else on standard error.

A reader that leaves early, as in `gitops task list | head -1`, is no failure.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NoReturn, TextIO

import msgspec
import typer


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
    """Flush after each line, also into a pipe, and send adapters' logs to standard error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    from agent.observe.logs import configure  # noqa: PLC0415  a tenth of a second for those who log

    configure("warning", "auto", sys.stderr)


def line(answer: Mapping[str, object]) -> None:
    """Print one line of JSON."""
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
    """Print bytes that are lines already."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(block)
    except BrokenPipeError:
        end_unread()


def complain(problem: str) -> None:
    sys.stderr.write(f"gitops: {problem}\n")


def warn(problem: str) -> None:
    """Print a warning that does not end the command."""
    complain(f"warning: {problem}")


def stop(problem: str, code: Exit = Exit.BAD_INPUT) -> NoReturn:
    complain(problem)
    raise typer.Exit(code)


def end_unread() -> NoReturn:
    """Exit with code 0; Click by itself would exit with a failure."""
    drop_output(sys.stdout)
    sys.exit(0)


def drop_output(output: TextIO) -> None:
    """Drop all further output, also what the interpreter flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
