"""mass_sync: N Applications of four objects are created at once; how long until all are Synced?

The clock runs from the first Application's creation to the watch event that says the last is
Synced, so making the Applications is part of it. The floor is a bare client that sends the same
4 N creating applies, in the same run, on the same API server, before the agent is started.
"""

from __future__ import annotations

import asyncio
import time

import msgspec

from benchmarks.agent_setup import AgentSetup
from benchmarks.cluster import BenchmarkWatch
from benchmarks.counters import Snapshot
from benchmarks.figures import Figure
from benchmarks.floor import Floor, each_once
from benchmarks.progress import OnProgress
from benchmarks.workload import APPLICATIONS, OBJECTS, application, names

WORK = "N Applications of one Deployment and three small objects, created at once"
_WITHIN = 900.0
_AT_THE_FLOOR = {"agent": "benchmark", "API server": "API server", "etcd": "etcd"}
"""Who did there what this one does here."""


class MassSyncWork(msgspec.Struct, frozen=True, kw_only=True):
    count: int
    floor: Floor


async def mass_sync(
    setup: AgentSetup, work: MassSyncWork, progress: OnProgress
) -> tuple[Figure, ...]:
    expected, floor = names(work.count), work.floor
    bodies = [(APPLICATIONS, application(name, setup.repository.url)) for name in expected]
    async with asyncio.timeout(_WITHIN), setup.cluster.watch(APPLICATIONS) as watch:
        before, began = await setup.snapshot(), time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(_all_synced(watch, frozenset(expected), progress))
            await each_once(setup.cluster, bodies, create=True)
            created = time.monotonic()
    done = (await setup.snapshot()).since(before)
    wall = waiting.result() - began
    return (
        Figure(name="all Synced, wall", unit="s", value=wall, floor=floor.wall, aim=1.5),
        Figure(name="of it, creating the Applications", unit="s", value=created - began),
        *_calls(done, work),
        *_cpu(done, floor),
        Figure(name="CPU that others took during the floor", unit="%", value=floor.others),
    )


def _calls(done: Snapshot, work: MassSyncWork) -> tuple[Figure, ...]:
    """Who created the Applications is the benchmark: the server's count leaves that out."""
    count, floor = work.count, work.floor
    served = done.served - count
    verbs = sorted(done.agent_requests, key=lambda verb: -done.agent_requests[verb])
    return (
        Figure(
            name="agent's calls per application",
            unit="calls",
            value=done.requests / count,
            floor=float(OBJECTS),
            aim=6 / OBJECTS,
        ),
        Figure(
            name="the same, counted by the API server",
            unit="calls",
            value=served / count,
            floor=floor.done.served / count,
        ),
        *(
            Figure(name=f"calls: {verb}", unit="calls", value=done.agent_requests[verb])
            for verb in verbs
            if done.agent_requests[verb]
        ),
        Figure(name="renders", unit="", value=done.renders),
    )


def _cpu(done: Snapshot, floor: Floor) -> tuple[Figure, ...]:
    return tuple(
        Figure(
            name=f"CPU of {role}",
            unit="s",
            value=seconds,
            floor=floor.done.cpu.get(_AT_THE_FLOOR.get(role, "")),
        )
        for role, seconds in sorted(done.cpu.items(), key=lambda item: -item[1])
    )


async def _all_synced(
    watch: BenchmarkWatch, expected: frozenset[str], progress: OnProgress
) -> float:
    """The moment of the event that told of the last one."""
    synced: set[str] = set()
    async for seen in watch:
        if seen.object.status.sync.status == "Synced" and seen.object.name in expected:
            synced.add(seen.object.name)
            progress(len(synced), len(expected))
        if len(synced) == len(expected):
            return seen.seen_at
    raise AssertionError("a watch has no end")
