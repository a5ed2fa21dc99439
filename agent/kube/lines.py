"""Chunks of a body that never ends, cut into lines.

aiohttp's own line reader gives up at 64 KiB, and a watch event holds a whole object. The limit here
is for what no API server sends: its own is a few MiB an object.
"""

from __future__ import annotations

LONGEST_LINE = 32 * 1024 * 1024


class LineTooLongError(Exception):
    """The sender is not what we think it is."""


class Lines:
    """Feed chunks, get complete lines; the unfinished end is kept for the next chunk."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._begun: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        *complete, rest = chunk.split(b"\n")
        lines = []
        for part in complete:
            lines.append(b"".join((*self._begun, part)))
            self._begun, self._size = [], 0
        self._begun.append(rest)
        self._size += len(rest)
        if self._size > self._longest:
            raise LineTooLongError(f"a line of more than {self._longest} bytes")
        return [line for line in lines if line]
