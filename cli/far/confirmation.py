"""Confirmation of what cannot be undone: a question in a terminal, `--yes` everywhere else.

A script that nobody watches must say that it means it, so without a terminal there is no default.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli.far.errors import FarError
from cli.far.text import clean
from cli.say import Exit

YesOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Do it without a question, e.g. in a script.")
]
_AGREED = frozenset({"y", "yes"})


def confirm(consequence: str, *, yes: bool) -> None:
    """Return where the person agrees to `consequence`, a sentence; else raise FarError."""
    if yes:
        return
    text = clean(consequence)
    if not sys.stdin.isatty():
        raise FarError(f"{text}. Nobody can be asked here: say --yes", Exit.BAD_INPUT)
    sys.stderr.write(f"{text}.\nContinue? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in _AGREED:
        raise FarError("cancelled, nothing was changed", Exit.NO)
