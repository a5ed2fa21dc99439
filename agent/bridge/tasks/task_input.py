"""TaskInput: what the requester types into a running task, in order and bounded.

The service forwards it without waiting for the task. What is lost on the way, or comes faster than
the task takes it, would leave half a command: so the input ends then, with the reason.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from bus.link import LONGEST_INPUT, TerminalInput

_MOST_WAITING = 1024
_MOST_CHARACTERS = 256 * 1024
_MOST_EARLY = 8 * 1024
"""Characters before the task takes the first: very many tasks may wait to begin."""


class InputEndedError(Exception):
    """No more input comes; the message says why."""


@dataclass(slots=True)
class TaskInput:
    _waiting: deque[TerminalInput] = field(default_factory=deque)
    _characters: int = 0
    """Of the input that waits."""
    _next: int = 0
    _is_taken: bool = False
    _ended: str = ""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, frame: TerminalInput) -> None:
        """Take the frame, or end the input where that cannot be done in order."""
        problem = self._problem(frame)
        if problem:
            self.end(problem)
            return
        self._next += 1
        self._characters += len(frame.text)
        self._waiting.append(frame)
        self._changed.set()

    def end(self, reason: str) -> None:
        """End the input, also what waits; the first reason stays."""
        self._ended = self._ended or reason
        self._waiting.clear()
        self._changed.set()

    async def take(self) -> TerminalInput:
        """Return the next frame; raises InputEndedError."""
        self._is_taken = True
        while True:
            if self._ended:
                raise InputEndedError(self._ended)
            if self._waiting:
                frame = self._waiting.popleft()
                self._characters -= len(frame.text)
                return frame
            self._changed.clear()
            await self._changed.wait()

    def _problem(self, frame: TerminalInput) -> str:
        if frame.number != self._next:
            return f"input {self._next} was lost on the way (input {frame.number} came)"
        if len(frame.text) > LONGEST_INPUT:
            return f"one input has {len(frame.text)} characters, at most {LONGEST_INPUT}"
        full = len(self._waiting) >= _MOST_WAITING
        most = _MOST_CHARACTERS if self._is_taken else _MOST_EARLY
        if full or self._characters + len(frame.text) > most:
            return "input comes faster than the container takes it"
        return ""
