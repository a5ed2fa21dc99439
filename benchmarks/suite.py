"""The suite: which benchmarks run in which order on which ground.

One world for each size and repeat, fresh every time: the floor first, then the agent on the same
API server, then mass_sync, and on what it made live push_to_synced, monorepo_noop, drift, idle,
big_app and noisy_neighbour. The service's benchmarks open what they need themselves: they come
last, and run alone as well.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from benchmarks import (
    big_app,
    catch_up,
    drift,
    fan_out,
    idle,
    mass_sync,
    memory,
    monorepo_noop,
    noisy_neighbour,
    push_to_synced,
    service_load,
    storm,
)
from benchmarks.agent_setup import AgentSetup, create_namespace, open_agent_setup, open_parts
from benchmarks.alone import Alone, report_of
from benchmarks.counters import look
from benchmarks.figures import BenchmarkReport, Figure, rows
from benchmarks.floor import measure_floor
from benchmarks.machine import load
from benchmarks.mass_sync import MassSyncWork
from benchmarks.monorepo_noop import settled
from benchmarks.progress import OnProgress, ProgressScreen
from benchmarks.workload import DESTINATION, files, names

_SMALL = 100
_BYTES_AIM = 3072
OTHERS = "the machine's CPU that others took"


class Benchmark(StrEnum):
    MASS_SYNC = "mass_sync"
    PUSH_TO_SYNCED = "push_to_synced"
    MONOREPO_NOOP = "monorepo_noop"
    DRIFT = "drift"
    IDLE = "idle"
    BIG_APP = "big_app"
    NOISY_NEIGHBOUR = "noisy_neighbour"
    MEMORY = "memory"
    FAN_OUT = "fan_out"
    CATCH_UP = "catch_up"
    SERVICE_LOAD = "service_load"
    STORM = "storm"


class SuitePlan(msgspec.Struct, frozen=True, kw_only=True):
    applications: int
    repeats: int
    only: frozenset[Benchmark]
    sandbox: Path
    idle_seconds: float = 600.0

    @property
    def sizes(self) -> tuple[int, ...]:
        """The small one tells whether latency grows with N."""
        return tuple(sorted({min(_SMALL, self.applications), self.applications}))


Figures = Mapping[Benchmark, Sequence[Figure]]
Run = Callable[[OnProgress], Awaitable[Sequence[Figure]]]
OnReport = Callable[[BenchmarkReport], None]

_WORK = {
    Benchmark.MASS_SYNC: mass_sync.WORK,
    Benchmark.PUSH_TO_SYNCED: push_to_synced.WORK,
    Benchmark.MONOREPO_NOOP: monorepo_noop.WORK,
    Benchmark.DRIFT: drift.WORK,
    Benchmark.IDLE: idle.WORK,
    Benchmark.BIG_APP: big_app.WORK,
    Benchmark.NOISY_NEIGHBOUR: noisy_neighbour.WORK,
}


SERVICE_BENCHMARKS: dict[Benchmark, Callable[[], Alone]] = {
    Benchmark.FAN_OUT: fan_out.alone,
    Benchmark.CATCH_UP: catch_up.alone,
    Benchmark.SERVICE_LOAD: service_load.alone,
    Benchmark.STORM: storm.alone,
}


async def on_real_parts(plan: SuitePlan, screen: ProgressScreen, on_report: OnReport) -> None:
    """Each size, all repeats; a report as soon as its last repeat is done."""
    chosen = plan.only & _WORK.keys()
    for size in plan.sizes if chosen else ():
        before = load()
        repeats = [await _round(plan, size, screen) for _ in range(plan.repeats)]
        for benchmark in (one for one in Benchmark if one in chosen):
            on_report(
                BenchmarkReport(
                    benchmark=benchmark,
                    applications=size,
                    work=_WORK[benchmark],
                    rows=rows([figures[benchmark] for figures in repeats]),
                    load_before=before,
                )
            )


def of_service(plan: SuitePlan, screen: ProgressScreen, on_report: OnReport) -> None:
    """The service's side, in the sizes that are promised; N is the agent's."""
    for benchmark, alone in SERVICE_BENCHMARKS.items():
        if benchmark in plan.only:
            screen.show(f"{benchmark}: starting PostgreSQL and the service")
            on_report(report_of(alone(), plan.repeats))


def of_memory(plan: SuitePlan, screen: ProgressScreen, sizes: Sequence[int]) -> BenchmarkReport:
    before = load()
    figures: list[Figure] = []
    with screen.running("memory: live objects in the index") as progress:
        for number, size in enumerate(sizes, 1):
            found = memory.in_own_process(size).rss_bytes_per_object
            name = f"resident bytes per object at {size} objects"
            figures.append(Figure(name=name, unit="B", value=found, aim=_BYTES_AIM))
            progress(number, len(sizes))
    return BenchmarkReport(
        benchmark=Benchmark.MEMORY,
        applications=plan.applications,
        work="N live objects as an API server sends them, kept in the index",
        rows=rows([figures]),
        load_before=before,
    )


async def _round(plan: SuitePlan, size: int, screen: ProgressScreen) -> Figures:
    with tempfile.TemporaryDirectory(prefix="gitops-bench-") as folder:
        screen.show(f"N={size}: starting NATS, a Git host and an API server")
        async with open_parts(Path(folder), plan.sandbox) as ground:
            with screen.running(f"N={size}: the floor, a bare client"):
                floor = await measure_floor(ground, size)
            ground.repository.commit(files(names(size)))
            await create_namespace(ground.cluster, DESTINATION)
            screen.show(f"N={size}: starting the agent")
            async with open_agent_setup(ground) as setup:
                return await _measured(plan, setup, MassSyncWork(count=size, floor=floor), screen)


async def _measured(
    plan: SuitePlan, setup: AgentSetup, work: MassSyncWork, screen: ProgressScreen
) -> Figures:
    """mass_sync in any case: it makes live what the others change."""
    runs: dict[Benchmark, Run] = {
        Benchmark.MASS_SYNC: lambda progress: mass_sync.mass_sync(setup, work, progress),
        Benchmark.PUSH_TO_SYNCED: lambda progress: push_to_synced.push_to_synced(
            setup, work.count, progress
        ),
        Benchmark.MONOREPO_NOOP: lambda _: monorepo_noop.monorepo_noop(setup, work.count),
        Benchmark.DRIFT: lambda progress: drift.drift(setup, work.count, progress),
        Benchmark.IDLE: lambda _: idle.idle(setup, plan.idle_seconds),
        Benchmark.BIG_APP: lambda _: big_app.big_app(setup, min(10 * work.count, big_app.MOST)),
        Benchmark.NOISY_NEIGHBOUR: lambda progress: noisy_neighbour.noisy_neighbour(
            setup, work.count, progress
        ),
    }
    found: dict[Benchmark, Sequence[Figure]] = {}
    for benchmark, run in runs.items():
        if benchmark in plan.only | {Benchmark.MASS_SYNC}:
            with screen.running(f"N={work.count}: {benchmark}") as progress:
                found[benchmark] = await _with_neighbours(run, progress)
            await settled(setup)
    return found


async def _with_neighbours(run: Run, progress: OnProgress) -> Sequence[Figure]:
    before = look()
    figures = await run(progress)
    share = look().others_share(before)
    return (*figures, Figure(name=OTHERS, unit="%", value=share))
