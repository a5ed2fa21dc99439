"""The hub of listeners in this process, with the events that wait for each of them.

The hub never waits for a listener: one whose buffer is full is cut, told why, and resumes by the id
of the last event it got. Events are shared between the buffers, so a buffer costs references.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from bus.http.budget import Budget
from service.live.change_event import ChangeEvent, EventFilters, EventVisibility, server_sent

LISTENERS = 5000
"""Most of one process."""
LISTENERS_OF_ONE = 100
"""Most of one principal in one process, so that nobody takes all places."""
BUFFERED = 2000
"""Events that may wait for one listener."""


class ReadyEvent:
    """An event with its text, made when the first listener wants it."""

    __slots__ = ("_text", "event")

    def __init__(self, event: ChangeEvent) -> None:
        self.event = event
        self._text = b""

    @property
    def text(self) -> bytes:
        self._text = self._text or server_sent(self.event)
        return self._text


@dataclass(slots=True, kw_only=True, eq=False)
class Listener:
    account: str
    view: EventVisibility
    filters: EventFilters
    capacity: int = BUFFERED
    cut: bool = False
    """It fell behind: nothing more is kept for it."""
    waiting: deque[ReadyEvent] = field(default_factory=deque)
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def wants(self, event: ChangeEvent) -> bool:
        return self.filters.match(event) and self.view.may_see(event)

    def offer(self, ready: Iterable[ReadyEvent]) -> None:
        for one in ready:
            if not self.wants(one.event):
                continue
            if len(self.waiting) >= self.capacity:
                self.cut = True
                self.waiting.clear()
                break
            self.waiting.append(one)
        if self.waiting or self.cut:
            self.woken.set()

    def take(self, most: int) -> list[ReadyEvent]:
        """Take events in order; `woken` is cleared where nothing is left."""
        taken = [self.waiting.popleft() for _ in range(min(most, len(self.waiting)))]
        if not self.waiting and not self.cut:
            self.woken.clear()
        return taken


class ListenerTerms(msgspec.Struct, frozen=True, kw_only=True):
    beat: float = 2.0
    """Seconds between signs of life: a page takes two missing ones for a service that is away."""
    slow: float = 10.0
    """Seconds that one write may take."""


@dataclass(slots=True, kw_only=True)
class ListenerHub:
    """One per process. `cursors`: the id up to which each account was handed out."""

    terms: ListenerTerms = field(default_factory=ListenerTerms)
    cursors: dict[str, int] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """An account got its first listener: there is something to read."""
    slots: Budget = field(default_factory=lambda: Budget(total=LISTENERS, share=LISTENERS_OF_ONE))
    """Of listeners, by principal."""
    _listeners: dict[str, set[Listener]] = field(default_factory=dict)

    @contextmanager
    def listening(self, listener: Listener) -> Iterator[None]:
        """Register a listener, which gets what is handed out from now on; see `begin`."""
        mine = self._listeners.setdefault(listener.account, set())
        mine.add(listener)
        try:
            yield
        finally:
            mine.discard(listener)
            if not mine and self._listeners.get(listener.account) is mine:
                del self._listeners[listener.account]
                self.cursors.pop(listener.account, None)

    def begin(self, account: str, newest: int) -> None:
        """Follow the account from here on, unless it is followed already."""
        self.cursors.setdefault(account, newest)
        self.changed.set()

    def hand_out(self, account: str, events: Sequence[ChangeEvent]) -> None:
        ready = tuple(map(ReadyEvent, events))
        for listener in tuple(self._listeners.get(account, ())):
            if not listener.cut:
                listener.offer(ready)
        if events and account in self.cursors:
            self.cursors[account] = max(self.cursors[account], events[-1].id)

    @property
    def listeners(self) -> int:
        return sum(map(len, self._listeners.values()))
