"""EventVersions: a bounded queue of Kubernetes events, with each version of an event only once.

A restarted watch lists every event again; known versions are skipped. If the reader is too slow,
the oldest events are dropped and counted.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import msgspec

from handlers.manifest import access

_WAITING = 1000
_KNOWN = 10_000


class EventVersions:
    """Sink of several watches, read by one reader; `matches` selects the events."""

    def __init__(self, matches: Callable[[object], bool], waiting: int = _WAITING) -> None:
        self._matches = matches
        self._waiting: deque[Any] = deque()
        self._limit = waiting
        self._known: OrderedDict[str, str] = OrderedDict()
        self._dropped = 0
        self._more = asyncio.Event()

    def add(self, event: Any) -> None:
        if not self._matches(event) or not self._is_new(event):
            return
        self._waiting.append(event)
        if len(self._waiting) > self._limit:
            self._waiting.popleft()
            self._dropped += 1
        self._more.set()

    async def next(self, within: float) -> tuple[Any, int]:
        """The next event, or None after `within` seconds, and the number dropped before it."""
        if not self._waiting:
            self._more.clear()
            try:
                async with asyncio.timeout(within):
                    await self._more.wait()
            except TimeoutError:
                return None, 0
        dropped, self._dropped = self._dropped, 0
        return self._waiting.popleft(), dropped

    def put(self, raw: bytes) -> None:
        self.add(msgspec.json.decode(raw))

    def remove(self, raw: bytes) -> None:
        """Nothing to do: a deleted event is not reported."""

    def begin_list(self) -> None:
        """Nothing to do: repeated events are known by their versions."""

    def forget_versions(self) -> None:
        """Nothing to do: known versions stay known."""

    def end_list(self, version: str) -> None:
        """Nothing to do: a list of events has no end to act on."""

    def _is_new(self, event: Any) -> bool:
        uid, version = access.text(event, "metadata", "uid"), access.resource_version(event)
        if self._known.get(uid) == version:
            return False
        self._known[uid] = version
        self._known.move_to_end(uid)
        while len(self._known) > _KNOWN:
            self._known.popitem(last=False)
        return True
