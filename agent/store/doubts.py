"""Writes whose answer was lost: the API server may have stored them, or not.

Whoever wrote says nothing then, because it may not be so; and finds nothing to say when it looks
again, if it is so after all. The note that went with the write (handlers/tell) decides: when the
watch brings it, the write was stored, and what it says is still to be said.
"""

from __future__ import annotations

from collections.abc import Callable

from bus.identity import AppKey
from handlers.application.application import Application
from handlers.tell.note import ANNOTATION


class Doubts:
    def __init__(self) -> None:
        self.stored: Callable[[Application], None] = _nobody
        """Called with an Application whose lost write turns out to be stored."""
        self._notes: dict[AppKey, str] = {}

    def add(self, key: AppKey, note: str, known: Application | None) -> None:
        """`known`: the watch may have been quicker than the loss."""
        if note:
            self._notes[key] = note
        if known is not None:
            self.look(known)

    def settle(self, key: AppKey) -> None:
        """A later write was answered: it said all that the lost one did not."""
        self._notes.pop(key, None)

    def look(self, app: Application) -> None:
        note = self._notes.get(app.key)
        if note is not None and app.metadata.annotations.get(ANNOTATION) == note:
            del self._notes[app.key]
            self.stored(app)


def _nobody(app: Application) -> None:
    """Until somebody tells facts."""
