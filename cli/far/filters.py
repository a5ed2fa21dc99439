"""Filters of lists: a value that nothing can have is wrong usage, not an empty list.

An empty list looks like good news, so a misspelt `--phase` must not make one.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from cli import say


def check_words(option: str, text: str, known: Sequence[str]) -> None:
    """Ends the command where a word of `text`, separated by commas, is not known."""
    for word in filter(None, text.split(",")):
        if word not in known:
            near = difflib.get_close_matches(word, known, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            say.stop(f"{option}: expected one of {', '.join(known)}, found {word!r}{meant}")
