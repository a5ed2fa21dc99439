"""drift: somebody edits an object of one of N applications by hand; when has Git won?

Thirty edits one after the other, as `kubectl edit` makes them, each of another application's
Deployment. Self-heal writes the object once where `managedFields` name who edited it.
"""

from __future__ import annotations

import asyncio
import math
import statistics
import time
from collections.abc import Sequence

from benchmarks.agent_setup import AgentSetup
from benchmarks.cluster import BenchmarkWatch
from benchmarks.figures import Figure
from benchmarks.monorepo_noop import settled
from benchmarks.progress import OnProgress
from benchmarks.workload import DEPLOYMENTS, names

WORK = "an object of one of N applications is edited by hand and healed; 30 times in a row"
_SAMPLES = 30
_P50_AIM_MS, _P99_AIM_MS = 80.0, 200.0
_WITHIN = 60.0
_MANAGER = "kubectl-edit"
_REPLICAS = 7


async def drift(setup: AgentSetup, count: int, progress: OnProgress) -> tuple[Figure, ...]:
    # An application that is edited again and again is healed ever later: each is edited once.
    samples = min(_SAMPLES, count)
    chosen = [names(count)[number * count // samples] for number in range(samples)]
    before = await settled(setup)
    healed: list[float] = []
    async with setup.cluster.watch(DEPLOYMENTS) as changes:
        for number, name in enumerate(chosen):
            healed.append(await _healed(setup, changes, name))
            progress(number + 1, samples)
    done = (await settled(setup)).since(before)
    edits = float(samples)
    return (
        *_percentiles(healed),
        Figure(
            name="writes to the object, a heal",
            unit="calls",
            value=(done.written("deployments") - edits) / edits,
            aim=1,
        ),
        Figure(name="CPU of agent, a heal", unit="s", value=done.cpu.get("agent", 0.0) / edits),
    )


async def _healed(setup: AgentSetup, changes: BenchmarkWatch, name: str) -> float:
    """Return the milliseconds from the answer to the edit to the object as Git has it."""
    async with asyncio.timeout(_WITHIN):
        await setup.cluster.edit(
            f"{DEPLOYMENTS}/{name}", {"spec": {"replicas": _REPLICAS}}, _MANAGER
        )
        edited = time.monotonic()
        was_edited = False
        async for seen in changes:
            if seen.object.name != name:
                continue
            if seen.object.spec.replicas == _REPLICAS:
                was_edited = True
            elif was_edited:
                return max(0.0, seen.seen_at - edited) * 1000
    raise AssertionError("a watch has no end")


def _percentiles(healed: Sequence[float]) -> tuple[Figure, ...]:
    longest = sorted(healed)[math.ceil(0.99 * len(healed)) - 1]
    return (
        Figure(
            name="edited -> healed, p50",
            unit="ms",
            value=statistics.median(healed),
            aim=_P50_AIM_MS,
        ),
        Figure(name="edited -> healed, p99", unit="ms", value=longest, aim=_P99_AIM_MS),
    )
