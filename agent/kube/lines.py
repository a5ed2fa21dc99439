"""Lines cuts the chunks of a stream of the API server into lines."""

from __future__ import annotations

from agent.kube.answer_bytes import AnswerShare

LONGEST_LINE = 32 * 1024 * 1024


class LineTooLongError(Exception):
    """A line is longer than any API server sends."""


class Lines:
    """Lines cuts the chunks of an endless body into lines.

    aiohttp's own line reader gives up at 64 KiB, and a watch event holds a whole object. The
    limit excludes only what no API server sends: its own is a few MiB an object.

    Feed chunks, get complete lines; the unfinished end is kept for the next chunk.
    """

    def __init__(self, share: AnswerShare, longest: int = LONGEST_LINE) -> None:
        """`share` counts what is kept."""
        self._share = share
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
        self._share.hold(self._size)
        if self._size > self._longest:
            raise LineTooLongError(f"a line of more than {self._longest} bytes")
        return [line for line in lines if line]
