"""storm: strangers send halves of requests and guesses. What does it take, and does it come back?

A real agent and a real service, processes of their own. To each in turn: half-sent heads, half-sent
bodies; then 2,000 webhooks a second to the agent, forged ones and after them proven ones of one
repository, and parallel logins to the service. Good requests go on meanwhile, each on a connection
of its own. All of it twice: what a process takes at its first storm and keeps is no leak, what it
takes at the second is. Only loopback.

    python -m benchmarks.storm --heads 5000 --bodies 500 --json bench-results/storm.json
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.alone import Alone, parser_of, run_alone
from benchmarks.counters import cpu_seconds, look
from benchmarks.figures import Figure
from benchmarks.storm_load import Ending, EndingCounts
from benchmarks.storm_targets import Load, Size, Target, open_agent, open_service
from benchmarks.storm_watch import GoodRequests, beside, many_files, settled
from playground.build import build_sandbox
from playground.screen import watching

WORK = "half-sent heads and bodies, webhooks, parallel logins; twice, with good requests"
_MIB, _BACK = 2**20, 1.1
_FILES = 16_384
_WARM_SECONDS = 3.0


async def storm(size: Size) -> tuple[Figure, ...]:
    with watching(Console(stderr=True)) as watch:
        sandbox = build_sandbox(watch)
    with tempfile.TemporaryDirectory(prefix="gitops-bench-") as folder, many_files(_FILES):
        began = look()
        async with open_agent(Path(folder), sandbox, size) as target:
            figures = await _measured(target)
        async with open_service(Path(folder) / "service", size) as target:
            figures += await _measured(target)
        others = look().others_share(began)
    return (*figures, Figure(name="the machine's CPU that others took", unit="%", value=others))


async def _measured(target: Target) -> tuple[Figure, ...]:
    memory, log = target.memory, target.child.program.log
    await beside(_warm, target.port, target.good)
    before, logged = memory.now(), log.stat().st_size
    memory.forget_peak()
    figures: list[Figure] = []
    for name, load in target.loads.items():
        figures += await _figures_of(target, name, load)
    peak, after = memory.peak(), await settled(memory, int(before * _BACK))
    for load in target.loads.values():
        await load()
    again = await settled(memory, int(after * _BACK))
    return (
        *figures,
        _mib(f"{target.name}: memory before", before),
        _mib(f"{target.name}: memory, peak", peak),
        _mib(f"{target.name}: memory after", after, floor=before),
        _mib(f"{target.name}: memory after a second storm", again, floor=after),
        _mib(f"{target.name}: log grown in both", log.stat().st_size - logged),
    )


async def _warm() -> None:
    await asyncio.sleep(_WARM_SECONDS)


async def _figures_of(target: Target, name: str, load: Load) -> list[Figure]:
    """Under one load: how it ended, what each of it cost the target, how the good ones fared."""
    spent = _cpu(target)
    ends, good = await beside(load, target.port, target.good)
    each = (_cpu(target) - spent) / (ends.total() + len(good.milliseconds)) * 1e6
    prefix = f"{target.name}, {name}"
    cost = Figure(name=f"{prefix}: CPU of the {target.name} for each", unit="us", value=each)
    return [*_ending_figures(prefix, ends), cost, *_good(prefix, good)]


def _cpu(target: Target) -> float:
    return cpu_seconds(target.pid)["agent"]


def _ending_figures(prefix: str, ends: EndingCounts) -> list[Figure]:
    counts = [
        Figure(name=f"{prefix}: {ending}", unit="", value=ends[ending])
        for ending in (Ending.ANSWERED, Ending.REFUSED, Ending.CUT)
    ]
    return [
        *counts,
        Figure(name=f"{prefix}: {Ending.OPEN}", unit="", value=ends[Ending.OPEN], aim=0),
    ]


def _good(prefix: str, good: GoodRequests) -> list[Figure]:
    return [
        Figure(name=f"{prefix}: good request meanwhile, p50", unit="ms", value=good.part(50)),
        Figure(name=f"{prefix}: the same, longest", unit="ms", value=good.part(100)),
        Figure(name=f"{prefix}: good requests that failed", unit="", value=good.failed, aim=0),
    ]


def _mib(name: str, value: int, floor: int | None = None) -> Figure:
    if floor is None:
        return Figure(name=name, unit="MiB", value=value / _MIB)
    return Figure(name=name, unit="MiB", value=value / _MIB, floor=floor / _MIB, aim=_BACK)


def alone(size: Size | None = None) -> Alone:
    chosen = size or Size()
    return Alone(benchmark="storm", work=WORK, size=chosen.heads, measure=lambda: storm(chosen))


def main(arguments: Sequence[str]) -> int:
    parser, size = parser_of("storm", __doc__), Size()
    parser.add_argument("--heads", type=int, default=size.heads, metavar="N")
    parser.add_argument("--bodies", type=int, default=size.bodies, metavar="N")
    parser.add_argument("--seconds", type=float, default=size.webhooks_seconds, metavar="S")
    parser.add_argument("--logins", type=int, default=size.logins, metavar="N")
    options = parser.parse_args(arguments)
    chosen = Size(
        heads=options.heads,
        bodies=options.bodies,
        webhooks_seconds=options.seconds,
        logins=options.logins,
    )
    return run_alone(alone(chosen), options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
