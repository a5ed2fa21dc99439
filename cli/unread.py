"""Output whose reader has left before its end, e.g. `gitops task list | head -1`: no failure.

Imports next to nothing, because `gitops --help` shall answer at once.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn, TextIO


def end_unread() -> NoReturn:
    """Leave with 0. Not left to Click, which makes a failure of it."""
    drop_output(sys.stdout)
    sys.exit(0)


def drop_output(output: TextIO) -> None:
    """Let nothing more reach the reader, also not what the interpreter flushes last."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
