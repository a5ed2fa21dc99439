"""FinishedOperations: how the latest operations ended, by the operation's id, and who waits for it.

The status of an Application holds one operation only. A task whose operation was followed by
another before the task saw its end finds that end here.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bus.events import OperationFinished

_REMEMBERED = 1000


@dataclass(slots=True)
class ApplicationChanges:
    """Wakes whoever waits for an Application to change.

    A subscriber gets an event that is set at each change. It clears the event, reads the state,
    and waits: a change between the reading and the waiting has set the event again, so none is
    missed.
    """

    _events: dict[str, list[asyncio.Event]] = field(default_factory=dict)
    """By `namespace/name` of the Application."""

    def notify(self, subject: str) -> None:
        for event in self._events.get(subject, ()):
            event.set()

    @contextmanager
    def subscribe(self, subject: str) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        self._events.setdefault(subject, []).append(event)
        try:
            yield event
        finally:
            self._events[subject].remove(event)
            if not self._events[subject]:
                del self._events[subject]


@dataclass(slots=True)
class FinishedOperations:
    changes: ApplicationChanges = field(default_factory=ApplicationChanges)
    """Notified of each finished operation's Application."""
    _facts: OrderedDict[str, OperationFinished] = field(default_factory=OrderedDict)

    def add(self, fact: OperationFinished) -> None:
        self._facts[fact.operation] = fact
        if len(self._facts) > _REMEMBERED:
            self._facts.popitem(last=False)
        self.changes.notify(str(fact.app))

    def get(self, operation: str) -> OperationFinished | None:
        return self._facts.get(operation)
