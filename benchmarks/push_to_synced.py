"""push_to_synced: one of N Synced applications changes by a push; when does the cluster show it?

Thirty pushes one after the other, each to another application. With thirty samples p99 is the
longest. The hops between are read afterwards from the facts, whose envelopes hold the moment at
which each was said.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from benchmarks.agent_setup import AgentSetup
from benchmarks.figures import Figure
from benchmarks.progress import OnProgress
from benchmarks.pushing import Eyes, Pushed, push
from benchmarks.workload import APPLICATIONS, DEPLOYMENTS, names
from bus.events import Compared, Fact, ManifestsRendered, ResourcesApplied, RevisionResolved

WORK = "one of N applications changes by a push with webhook; 30 pushes, one after the other"
SAMPLES = 30
_AIM_MS = 150.0
_HOPS: tuple[tuple[type[Fact], str], ...] = (
    (RevisionResolved, "fetched and resolved"),
    (ManifestsRendered, "rendered"),
    (Compared, "compared"),
    (ResourcesApplied, "applied, status written"),
)


async def push_to_synced(setup: AgentSetup, count: int, progress: OnProgress) -> tuple[Figure, ...]:
    began = datetime.now(UTC) - timedelta(seconds=1)
    samples = await _samples(setup, names(count), progress)
    return (*_figures(samples), *_breakdown(samples, await _facts_of(setup, began)))


async def _samples(
    setup: AgentSetup, applications: Sequence[str], progress: OnProgress
) -> list[Pushed]:
    samples: list[Pushed] = []
    async with (
        setup.cluster.watch(DEPLOYMENTS) as changes,
        setup.cluster.watch(APPLICATIONS) as syncs,
    ):
        eyes = Eyes(deployments=changes, applications=syncs)
        for number in range(SAMPLES):
            name = applications[number * len(applications) // SAMPLES % len(applications)]
            samples.append(await push(setup, eyes, name, f"2.{number}"))
            progress(number + 1, SAMPLES)
    return samples


def _figures(samples: Sequence[Pushed]) -> tuple[Figure, ...]:
    changed = [(one.changed - one.accepted) * 1000 for one in samples]
    from_push = [(one.changed - one.pushed) * 1000 for one in samples]
    synced = [(one.synced - one.accepted) * 1000 for one in samples]
    return (
        _p50("webhook accepted -> object changed, p50", changed, aim=_AIM_MS),
        _p99("webhook accepted -> object changed, p99", changed),
        _p50("git push done -> object changed, p50", from_push),
        _p99("git push done -> object changed, p99", from_push),
        _p50("webhook accepted -> Application Synced, p50", synced),
        _p99("webhook accepted -> Application Synced, p99", synced),
    )


async def _facts_of(
    setup: AgentSetup, since: datetime
) -> Mapping[str, list[tuple[datetime, Fact]]]:
    """The facts of each chain, by the commit that began it."""
    chains: dict[str, list[tuple[datetime, Fact]]] = defaultdict(list)
    commits: dict[str, str] = {}
    async with setup.bus.facts(since=since, follow=False) as facts:
        async for envelope, fact in facts:
            if isinstance(fact, Fact):
                chains[envelope.correlation].append((envelope.time, fact))
            if isinstance(fact, RevisionResolved):
                commits[envelope.correlation] = fact.revision
    return {commits[chain]: recorded for chain, recorded in chains.items() if chain in commits}


def _breakdown(
    samples: Sequence[Pushed], recorded: Mapping[str, list[tuple[datetime, Fact]]]
) -> list[Figure]:
    """Median milliseconds between one fact of a chain and the next."""
    hops: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        at = sample.clock
        for kind, label in _HOPS:
            seen_at = next(
                (
                    time
                    for time, fact in recorded.get(sample.revision, ())
                    if isinstance(fact, kind)
                ),
                None,
            )
            if seen_at is not None:
                hops[label].append((seen_at.timestamp() - at) * 1000)
                at = seen_at.timestamp()
    return [_p50(f"hop, p50: {label}", values) for label, values in hops.items()]


def _p50(name: str, values: Sequence[float], aim: float | None = None) -> Figure:
    return Figure(name=name, unit="ms", value=statistics.median(values), aim=aim)


def _p99(name: str, values: Sequence[float]) -> Figure:
    """The nearest rank, which is the longest of less than a hundred."""
    ranked = sorted(values)
    return Figure(name=name, unit="ms", value=ranked[-(-99 * len(ranked) // 100) - 1])
