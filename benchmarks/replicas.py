"""replicas: one agent as 1, 2 and 4 processes; how do work and memory divide among them?

A fresh world for each number. First N Applications are created at once and all of them are synced,
then one push changes each of them. One replica is an agent that divides nothing, as it is without
the setting. On two cores more processes do not make it faster: what is shown is how much each of
them has to do, and what it costs all together.

    python -m benchmarks.replicas --applications 300 --replicas 1 2 4
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks.agent_setup import AgentSetup, BenchmarkParts, create_namespace, open_agent_setup
from benchmarks.agent_setup import open_parts as open_benchmark_parts
from benchmarks.alone import Alone, parser_of, run_each
from benchmarks.cluster import BenchmarkWatch
from benchmarks.counters import look, resident_of, samples, seconds_of
from benchmarks.figures import Figure
from benchmarks.floor import each_once
from benchmarks.pushing import deliver
from benchmarks.workload import APPLICATIONS, DESTINATION, application, changed, files, names
from bus.identity import SHARDS
from playground.build import build_sandbox
from playground.screen import watching

WORK = "N Applications are created at once and synced, then one push changes all of them"
_WITHIN = 900.0
_MIB = 1024 * 1024
_LOOK = 0.5
_IDLE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ReplicaLook:
    """What one replica has used since its start, and what it has done."""

    cpu: float
    memory: float
    """Resident, in MiB."""
    syncs: int
    shards: int
    requests: int


async def replicas(
    sandbox: Path, count: int, processes: int, *, idle_seconds: float = _IDLE_SECONDS
) -> tuple[Figure, ...]:
    with tempfile.TemporaryDirectory(prefix="gitops-bench-") as folder:
        async with open_benchmark_parts(Path(folder), sandbox) as ground:
            ground.repository.commit(files(names(count)))
            await create_namespace(ground.cluster, DESTINATION)
            async with running(ground, processes) as agents:
                return await _measured(agents, count, idle_seconds)


@asynccontextmanager
async def running(ground: BenchmarkParts, processes: int) -> AsyncIterator[Sequence[AgentSetup]]:
    """The replicas act, each for its share, inside the block."""
    divided = {"GITOPS_REPLICAS_DIVIDE": "true"} if processes > 1 else {}
    async with AsyncExitStack() as stack:
        agents = [
            await stack.enter_async_context(open_agent_setup(ground, f"agent-{number}", divided))
            for number in range(processes)
        ]
        while divided and not await _are_even(agents):  # noqa: ASYNC110  processes tell nobody
            await asyncio.sleep(_LOOK)
        yield agents


async def _are_even(agents: Sequence[AgentSetup]) -> bool:
    looks = [await _look(one) for one in agents]
    return all(one.shards == SHARDS // len(agents) for one in looks)


async def _measured(
    agents: Sequence[AgentSetup], count: int, idle_seconds: float
) -> tuple[Figure, ...]:
    expected, first = frozenset(names(count)), agents[0]
    before, machine = [await _look(one) for one in agents], look()
    async with asyncio.timeout(_WITHIN), first.cluster.watch(APPLICATIONS) as watch:
        bodies = [(APPLICATIONS, application(name, first.repository.url)) for name in names(count)]
        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            created = tasks.create_task(all_synced(watch, expected), name="created")
            await each_once(first.cluster, bodies, create=True)
        head, pushed_at = first.repository.head(), time.monotonic()
        revision = first.repository.commit(
            {path: text for name in expected for path, text in changed(name, "2.0").items()}
        )
        await deliver(first, head, revision)
        pushed = await all_synced(watch, expected, revision)
        done = await _settled(agents, 2 * count)
    used = [_since(now, was) for now, was in zip(done, before, strict=True)]
    return (
        Figure(name="created at once: all Synced, wall", unit="s", value=created.result() - began),
        Figure(name="one push changes all: all Synced, wall", unit="s", value=pushed - pushed_at),
        Figure(name="CPU of all replicas", unit="s", value=sum(one.cpu for one in used)),
        *_shares("CPU of a replica", "s", [one.cpu for one in used]),
        *_shares("memory of a replica", "MiB", [one.memory for one in used]),
        *_shares("operations of a replica", "", [float(one.syncs) for one in used]),
        Figure(name="operations of all", unit="", value=float(sum(one.syncs for one in used))),
        *await _idle(agents, idle_seconds),
        Figure(
            name="the machine's CPU that others took", unit="%", value=look().others_share(machine)
        ),
    )


def _shares(name: str, unit: str, values: Sequence[float]) -> tuple[Figure, ...]:
    if len(values) == 1:
        return (Figure(name=name, unit=unit, value=values[0]),)
    return (
        Figure(name=f"{name}, least", unit=unit, value=min(values)),
        Figure(name=f"{name}, most", unit=unit, value=max(values)),
    )


def _since(now: ReplicaLook, before: ReplicaLook) -> ReplicaLook:
    return ReplicaLook(
        cpu=now.cpu - before.cpu,
        memory=now.memory,
        syncs=now.syncs - before.syncs,
        shards=now.shards,
        requests=now.requests - before.requests,
    )


async def _settled(agents: Sequence[AgentSetup], syncs: int) -> list[ReplicaLook]:
    """Look when all operations are counted."""
    while True:
        looks = [await _look(one) for one in agents]
        if sum(one.syncs for one in looks) >= syncs:
            return looks
        await asyncio.sleep(_LOOK)


async def _idle(agents: Sequence[AgentSetup], seconds: float) -> tuple[Figure, ...]:
    """Look at what the replicas do while nothing happens."""
    before, began = [await _look(one) for one in agents], time.monotonic()
    await asyncio.sleep(seconds)
    after, took = [await _look(one) for one in agents], time.monotonic() - began
    done = [_since(now, was) for now, was in zip(after, before, strict=True)]
    return (
        Figure(name="idle: cores of all", unit="", value=sum(one.cpu for one in done) / took),
        Figure(
            name="idle: requests of all",
            unit="/min",
            value=sum(one.requests for one in done) / took * 60,
        ),
    )


async def _look(agent: AgentSetup) -> ReplicaLook:
    async with agent.session.get(f"{agent.metrics_url}/metrics") as answer:
        text = await answer.text()
    return ReplicaLook(
        cpu=seconds_of(agent.agent.pid),
        memory=resident_of(agent.agent.pid) / _MIB,
        syncs=int(sum(value for _, value in samples(text, "argocd_app_sync"))),
        requests=int(sum(value for _, value in samples(text, "argocd_app_k8s_request"))),
        shards=sum(line.startswith("gitops_shard_term{") for line in text.splitlines()),
    )


async def all_synced(watch: BenchmarkWatch, expected: frozenset[str], revision: str = "") -> float:
    """The moment of the event that told of the last one."""
    synced: set[str] = set()
    async for seen in watch:
        sync = seen.object.status.sync
        if sync.status == "Synced" and sync.revision == (revision or sync.revision):
            synced.add(seen.object.name)
        if synced >= expected:
            return seen.seen_at
    raise AssertionError("a watch has no end")


def main(arguments: Sequence[str]) -> int:
    parser = parser_of("replicas", __doc__)
    parser.add_argument("--applications", type=int, default=300, metavar="N")
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 2, 4], metavar="R")
    options = parser.parse_args(arguments)
    with watching(Console(stderr=True)) as watch:
        sandbox = build_sandbox(watch)
    measured = (
        Alone(
            benchmark=f"replicas: {number}",
            work=WORK,
            size=options.applications,
            measure=partial(replicas, sandbox, options.applications, number),
        )
        for number in options.replicas
    )
    return run_each(measured, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
