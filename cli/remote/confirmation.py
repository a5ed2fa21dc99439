"""Confirmation of what cannot be undone: a question in a terminal, `--yes` everywhere else.

A script must confirm by itself, so without a terminal there is no default.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli.output import Exit
from cli.remote.errors import ServiceError
from cli.remote.formatting import clean

YesOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Do it without a question, e.g. in a script.")
]
_AGREED = frozenset({"y", "yes"})


def confirm(consequence: str, *, yes: bool) -> None:
    """Return where the person agrees to `consequence`, a sentence; else raise ServiceError."""
    if yes:
        return
    text = clean(consequence)
    if not sys.stdin.isatty():
        raise ServiceError(f"{text}. Nobody can be asked here: say --yes", Exit.BAD_INPUT)
    sys.stderr.write(f"{text}.\nContinue? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in _AGREED:
        raise ServiceError("cancelled, nothing was changed", Exit.NO)
