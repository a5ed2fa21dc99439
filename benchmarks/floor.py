"""The floor: the same creating applies by a bare client, which knows everything beforehand.

No watch, no comparison, no status: whoever makes N applications live through this API server on
this machine cannot be much quicker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator

import msgspec

from benchmarks.agent_setup import BenchmarkParts, create_namespace
from benchmarks.cluster import BenchmarkCluster, Object
from benchmarks.counters import Snapshot, look
from benchmarks.workload import names, objects, placed, places

Send = Callable[[str, Object], Awaitable[None]]

_AT_ONCE = 16
_NAMESPACE = "floor"


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    wall: float
    done: Snapshot
    others: float
    """Percent of the machine's CPU that somebody else took meanwhile."""


async def measure_floor(ground: BenchmarkParts, count: int) -> Floor:
    """Leaves nothing behind: the objects are deleted again."""
    await create_namespace(ground.cluster, _NAMESPACE)
    work = [placed(one, _NAMESPACE) for application in names(count) for one in objects(application)]
    before, began = await ground.snapshot(), look()
    await each_once(ground.cluster, work)
    ended = look()
    done = (await ground.snapshot()).since(before)
    for collection in places(_NAMESPACE):
        await ground.cluster.delete_all(collection)
    wall, others = ended.seen_at - began.seen_at, ended.others_share(began)
    return Floor(wall=wall, done=done, others=others)


async def each_once(
    cluster: BenchmarkCluster, work: Iterable[tuple[str, Object]], *, create: bool = False
) -> None:
    """Apply each (or create it), a bounded number at once."""
    waiting = iter(work)
    send: Send = cluster.create if create else cluster.apply
    async with asyncio.TaskGroup() as tasks:
        for number in range(_AT_ONCE):
            tasks.create_task(_take(waiting, send), name=f"client {number}")


async def _take(waiting: Iterator[tuple[str, Object]], send: Send) -> None:
    for path, body in waiting:
        await send(path, body)
