"""Terminal: the terminal of this process, raw while a shell elsewhere has it."""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cli import output
from cli.remote.errors import ServiceError

_READ_BYTES = 4096
_MOST = 1000


@dataclass(frozen=True, slots=True)
class Terminal:
    input: int
    """File descriptors."""
    output: int

    def size(self) -> tuple[int, int]:
        """Columns and rows; 80 and 24 where nobody knows them."""
        try:
            found = os.get_terminal_size(self.output)
        except OSError:
            return 80, 24
        return _side(found.columns, 80), _side(found.lines, 24)

    def write(self, text: str) -> None:
        left = memoryview(text.encode(errors="replace"))
        while left:
            left = left[os.write(self.output, left) :]

    @contextmanager
    def raw(
        self,
        loop: asyncio.AbstractEventLoop,
        typed: Callable[[str], None],
        resized: Callable[[int, int], None],
    ) -> Iterator[None]:
        """Tell what is typed, empty at its end, and new sizes; afterwards all is as it was."""
        import termios  # noqa: PLC0415  not on every system
        import tty  # noqa: PLC0415

        decoder = codecs.getincrementaldecoder("utf-8")("replace")

        def read() -> None:
            data = os.read(self.input, _READ_BYTES)
            if not data:
                loop.remove_reader(self.input)
                typed("")
            elif text := decoder.decode(data):
                typed(text)

        before = termios.tcgetattr(self.input)
        tty.setraw(self.input, termios.TCSADRAIN)
        loop.add_reader(self.input, read)
        loop.add_signal_handler(signal.SIGWINCH, lambda: resized(*self.size()))
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGWINCH)
            loop.remove_reader(self.input)
            termios.tcsetattr(self.input, termios.TCSADRAIN, before)


@contextmanager
def open_terminal() -> Iterator[Terminal]:
    """Use standard input and output; raises ServiceError where they are no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        text = "a shell needs a terminal: standard input and output are none"
        raise ServiceError(text, output.Exit.BAD_INPUT)
    yield Terminal(sys.stdin.fileno(), sys.stdout.fileno())


def _side(length: int, usual: int) -> int:
    return min(length, _MOST) if length > 0 else usual
