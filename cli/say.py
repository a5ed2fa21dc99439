"""How commands speak: answers on standard output, everything else on standard error."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import IntEnum
from typing import NoReturn

import msgspec
import typer


class Exit(IntEnum):
    FINE = 0
    NO = 1
    """The question was answered, and the answer is no: it differs, it cannot be reached."""
    BAD_INPUT = 2


def line(answer: Mapping[str, object]) -> None:
    """One line of JSON."""
    sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")


def text(answer: str) -> None:
    sys.stdout.write(answer + "\n")


def complain(problem: str) -> None:
    sys.stderr.write(f"gitops: {problem}\n")


def stop(problem: str, code: Exit = Exit.BAD_INPUT) -> NoReturn:
    complain(problem)
    raise typer.Exit(code)
