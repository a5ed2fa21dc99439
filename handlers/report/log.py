"""Redaction of a log: its lines come in pieces, and a private key runs over many of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from bus.redaction import HIDDEN
from handlers.report.redaction import Redaction

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----")
_END = "-----END "
_LONGEST_KEY = 400
"""Lines, of a key whose end never comes: 16,384 bits have about 200."""


class LogRedaction:
    """The redaction of one log; `redaction` is asked anew for each piece, as more is learned."""

    def __init__(self, redaction: Callable[[], Redaction]) -> None:
        self._redaction = redaction
        self._left = 0
        """How many more lines may belong to the private key that has begun; 0 outside of one."""

    def lines(self, lines: Iterable[str]) -> list[str]:
        """As many lines as came, masked."""
        redaction = self._redaction()
        text = "\n".join(self._outside_of_keys(lines))
        return redaction.text(text).split("\n")

    def _outside_of_keys(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            begin = _BEGIN.search(line)
            if self._left:
                self._left = 0 if _END in line else self._left - 1
                yield HIDDEN
            elif begin and _END not in line[begin.end() :]:
                self._left = _LONGEST_KEY
                yield line[: begin.start()] + HIDDEN
            else:
                yield line
