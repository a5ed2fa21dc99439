"""Memory that a storm left behind goes back to the kernel; the heap is not walked for nothing."""

from __future__ import annotations

import asyncio
import ctypes

from bus.http.freed_memory import TrimSchedule, resident_bytes, return_freed_memory
from tests.support import eventually

MIB = 1 << 20


async def test_memory_that_is_freed_in_pieces_goes_back() -> None:
    """Every sixteenth piece stays, so the heap cannot shrink at its end.

    What other tests have freed goes back first: pieces that take its place would be no growth.
    """
    ctypes.CDLL(None).malloc_trim(0)
    floor = resident_bytes()
    pieces = [bytes([number % 256]) * 4000 for number in range(32_768)]
    kept = pieces[::16]
    del pieces
    assert resident_bytes() > floor + 64 * MIB

    async with asyncio.TaskGroup() as tasks:
        returning = tasks.create_task(return_freed_memory(every=0.05), name="freed memory")
        await eventually(lambda: resident_bytes() < floor + 32 * MIB, what="memory goes back")
        returning.cancel()
    assert len(kept) == 2048


def test_growth_is_looked_at_at_once_and_again_when_it_may_be_free() -> None:
    schedule = TrimSchedule(resident=100 * MIB, due_at=1000.0)
    assert not schedule.is_due(5, 110 * MIB)
    assert schedule.is_due(5, 120 * MIB)

    schedule.trimmed(5, 120 * MIB, 120 * MIB)
    assert not schedule.is_due(14, 120 * MIB)
    assert schedule.is_due(15, 120 * MIB)


def test_looks_that_bring_nothing_become_rare() -> None:
    schedule, now, looks = TrimSchedule(resident=100 * MIB), 0.0, 0
    while now < 3600:
        if schedule.is_due(now, 100 * MIB):
            schedule.trimmed(now, 100 * MIB, 100 * MIB)
            looks += 1
        now += 10

    assert looks <= 12
