"""The layout of every help text: paragraphs and lists of terms, as wide as the terminal. Pure.

This module imports nothing heavy, because the list of commands must be shown at once.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence

_WIDEST, _NARROWEST = 100, 40
_TERM = 30
"""Columns that a term may take before its meaning begins on a line of its own."""


def width() -> int:
    columns = shutil.get_terminal_size().columns
    return max(_NARROWEST, min(_WIDEST, columns))


def paragraphs(text: str, columns: int) -> str:
    """Fill each paragraph of `text` to the width."""
    return "\n\n".join(
        textwrap.fill(" ".join(part.split()), columns, break_on_hyphens=False)
        for part in text.split("\n\n")
    )


def terms(title: str, rows: Sequence[tuple[str, str]], columns: int) -> str:
    """Lay out a titled list of terms beside their meanings; empty without rows."""
    if not rows:
        return ""
    fitting = [len(term) for term, _ in rows if len(term) <= _TERM]
    indent = max(fitting, default=_TERM) + 4
    return "\n".join((f"{title}:", *_lines(rows, indent, columns)))


def _lines(rows: Iterable[tuple[str, str]], indent: int, columns: int) -> Iterable[str]:
    space = " " * indent
    for term, meaning in rows:
        begin = f"  {term}".ljust(indent)
        if len(begin) > indent:
            yield begin
            begin = space
        yield (
            textwrap.fill(
                meaning,
                columns,
                initial_indent=begin,
                subsequent_indent=space,
                break_on_hyphens=False,
                break_long_words=False,
            )
            or begin.rstrip()
        )
