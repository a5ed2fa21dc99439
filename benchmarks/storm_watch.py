"""What is watched during a storm: the memory of a process, and how a good request fares."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from benchmarks.storm_load import exchange

_EVERY, _SETTLE_LOOKS = 0.25, 60
_GOOD_ADDRESS = "127.0.0.1"
_FORGET_PEAK = "5"
"""See proc(5): sets VmHWM back to what is resident now."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MemoryWatch:
    """Resident bytes of a process, read from /proc."""

    pid: int

    def now(self) -> int:
        return self._field("VmRSS")

    def peak(self) -> int:
        return self._field("VmHWM")

    def forget_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text(_FORGET_PEAK)

    def _field(self, name: str) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
        raise RuntimeError(f"/proc/{self.pid}/status has no {name}")


async def settled(memory: MemoryWatch, enough: int) -> int:
    """The memory as soon as it is `enough` or less, or a minute later."""
    for _ in range(_SETTLE_LOOKS):
        if memory.now() <= enough:
            break
        await asyncio.sleep(1)
    return memory.now()


@dataclass(slots=True)
class GoodRequests:
    """The good requests of a while."""

    milliseconds: list[float] = field(default_factory=list)
    failed: int = 0

    def part(self, percent: int) -> float:
        """The percentile of those answered; 0 where none was."""
        ordered = sorted(self.milliseconds)
        return ordered[(len(ordered) - 1) * percent // 100] if ordered else 0.0


async def beside(
    load: Callable[[], Coroutine[None, None, T]], port: int, request: bytes
) -> tuple[T, GoodRequests]:
    """Send the good request again and again until the load is over."""
    good = GoodRequests()
    async with asyncio.TaskGroup() as tasks:
        queries = tasks.create_task(_ask(port, request, good), name="good requests")
        done = await load()
        queries.cancel()
    return done, good


async def _ask(port: int, request: bytes, good: GoodRequests) -> None:
    while True:
        began = time.monotonic()
        try:
            answer = await exchange(port, _GOOD_ADDRESS, request)
        except (OSError, TimeoutError):
            answer = b""
        if b" 200 " in answer[:16]:
            good.milliseconds.append((time.monotonic() - began) * 1000)
        else:
            good.failed += 1
        await asyncio.sleep(_EVERY)


@contextmanager
def many_files(count: int) -> Iterator[None]:
    """This process and those it starts may open so many files, if the hard limit lets them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors = count if hard == resource.RLIM_INFINITY else min(count, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, descriptors), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
