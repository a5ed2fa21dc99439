"""Happenings: events of a cluster on their way to a reader, each version of one only once.

A watch that begins anew says everything again. A reader that is too slow does not make us remember
without end: the oldest are left out, and counted.
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


class Happenings:
    """What watches put in and one reader takes out; `means` chooses."""

    def __init__(self, means: Callable[[object], bool], waiting: int = _WAITING) -> None:
        self._means = means
        self._waiting: deque[Any] = deque()
        self._most = waiting
        self._known: OrderedDict[str, str] = OrderedDict()
        self._dropped = 0
        self._more = asyncio.Event()

    def hear(self, event: Any) -> None:
        if not self._means(event) or not self._is_new(event):
            return
        self._waiting.append(event)
        if len(self._waiting) > self._most:
            self._waiting.popleft()
            self._dropped += 1
        self._more.set()

    async def next(self, within: float) -> tuple[Any, int]:
        """The next one, or None after that many seconds; and how many were left out before."""
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
        self.hear(msgspec.json.decode(raw))

    def remove(self, raw: bytes) -> None:
        """An event that was forgotten by the cluster is no news."""

    def begin_list(self) -> None:
        """Nothing to prepare: what is said again is known by its version."""

    def forget_versions(self) -> None:
        """An event that comes again is told again."""

    def end_list(self, version: str) -> None:
        """Nothing to conclude."""

    def _is_new(self, event: Any) -> bool:
        uid, version = access.text(event, "metadata", "uid"), access.resource_version(event)
        if self._known.get(uid) == version:
            return False
        self._known[uid] = version
        self._known.move_to_end(uid)
        while len(self._known) > _KNOWN:
            self._known.popitem(last=False)
        return True
