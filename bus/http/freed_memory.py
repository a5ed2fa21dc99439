"""Freed memory goes back to the kernel: glibc keeps in its lists what a storm of requests freed.

Bodies come and go in pieces between others that stay, so the heap does not shrink by itself: of 500
half-sent bodies 44 of 55 MiB stayed resident that nothing used. `malloc_trim` gives whole pages of
them back. It walks the whole heap and holds its lock meanwhile (some 50 ms where much of it is in
pieces), so it runs soon after the process has grown, and seldom while it finds nothing.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

log = structlog.get_logger()

_MIB = 1 << 20
_STATM = Path("/proc/self/statm")
_GROWN, _WORTH = 16 * _MIB, 4 * _MIB
_SOONEST, _LATEST = 10.0, 640.0


@dataclass(slots=True, kw_only=True)
class TrimSchedule:
    """When to give freed memory back. Pure: seconds of any clock, resident bytes.

    After growth every ten seconds, because what grew is still in use at first; each time that
    brings less than 4 MiB doubles the pause, up to ten minutes.
    """

    resident: int
    """Resident bytes after the last time."""
    pause: float = _SOONEST
    due_at: float = 0.0

    def is_due(self, now: float, resident: int) -> bool:
        if resident >= self.resident + _GROWN:
            self.pause = _SOONEST
            return True
        return now >= self.due_at

    def trimmed(self, now: float, before: int, after: int) -> None:
        """Set the next time, by what this one gave back."""
        grew = before >= self.resident + _GROWN
        fruitful = grew or before - after >= _WORTH
        self.pause = _SOONEST if fruitful else min(2 * self.pause, _LATEST)
        self.resident, self.due_at = after, now + self.pause


async def return_freed_memory(every: float = _SOONEST) -> None:
    """For ever: look at the process's memory, and give back what is freed. A long task.

    It ends at once where the C library has no `malloc_trim`, or the system no /proc.
    """
    trim = _malloc_trim()
    if trim is None:
        return
    schedule, loop = TrimSchedule(resident=resident_bytes()), asyncio.get_running_loop()
    while True:
        await asyncio.sleep(every)
        if schedule.is_due(loop.time(), resident_bytes()):
            await _trim(schedule, trim, loop)


def _malloc_trim() -> Callable[[int], int] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if _STATM.exists() else None


async def _trim(
    schedule: TrimSchedule, trim: Callable[[int], int], loop: asyncio.AbstractEventLoop
) -> None:
    before = resident_bytes()
    await asyncio.to_thread(trim, 0)
    after = resident_bytes()
    schedule.trimmed(loop.time(), before, after)
    log.debug("freed memory given back", before=before, after=after)


def resident_bytes() -> int:
    """Bytes of this process that are in memory, from /proc."""
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
