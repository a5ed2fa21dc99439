"""LogRedaction: redacts a log that arrives in pieces, where a private key spans many lines.

Programs colour the names and values that they log, and the codes between the two would keep a
pattern from its secret. So a line is also judged without them, and loses its colours where it holds
a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from bus.redaction import HIDDEN
from handlers.report.redaction import Redaction

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\-_])")
"""The control sequences of terminals (ECMA-48), and the commands that end with a bell."""
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
        """Mask lines; as many come out as went in."""
        redaction = self._redaction()
        text = "\n".join(self._outside_of_keys(lines))
        masked, plain = redaction.text(text).split("\n"), _ESCAPES.sub("", text)
        if plain == text:
            return masked
        judged = zip(masked, plain.split("\n"), redaction.text(plain).split("\n"), strict=True)
        return [coloured if bare == safe else safe for coloured, bare, safe in judged]

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
