"""ChangeMarks: subjects that have changed, collected until one task looks at all of them.

Whoever hears of a change marks its subject and goes on. The task that owns the marks waits for the
first, gives the others a moment to arrive, and takes them all: the rollout of hundreds of pods is
one pass over their application, and where nothing changes nothing runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeVar

from handlers.application.application import Application
from handlers.manifest.tracking import app_identity

_T = TypeVar("_T")
_SLICE = 20


@dataclass(slots=True, kw_only=True)
class ChangeMarks:
    collect_seconds: float
    """From the first mark until the marks are taken."""
    _subjects: set[str] = field(default_factory=set)
    _marked: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, subjects: Iterable[str]) -> None:
        self._subjects.update(subjects)
        if self._subjects:
            self._marked.set()

    def take(self) -> set[str]:
        taken, self._subjects = self._subjects, set()
        self._marked.clear()
        return taken

    async def wait(self, within: float | None = None) -> None:
        """Return when marks were collected, or after `within` seconds without any."""
        try:
            async with asyncio.timeout(within):
                await self._marked.wait()
        except TimeoutError:
            return
        await asyncio.sleep(self.collect_seconds)


def marked_applications(
    apps: Mapping[str, Application], marked: AbstractSet[str], control_namespace: str
) -> Sequence[tuple[str, Application]]:
    """Choose the applications that are marked by their subject or by their identity on objects."""
    return [
        (subject, app)
        for subject, app in apps.items()
        if subject in marked or app_identity(app.key, control_namespace) in marked
    ]


async def in_slices(items: Iterable[_T]) -> AsyncIterator[_T]:
    """Yield the items and give other tasks a turn after each few, so that a pass holds up none."""
    for number, item in enumerate(items):
        if number % _SLICE == _SLICE - 1:
            await asyncio.sleep(0)
        yield item
