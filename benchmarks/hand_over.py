"""hand_over: one of two replicas is killed or stopped; how soon has each of its shards an owner?

A fresh world for each signal. When two replicas divide the shards and N Applications are synced,
one of them gets SIGKILL or SIGSTOP, and at once a push changes every Application. Measured is, from
the signal on: when the other replica says that it holds every shard (`/metrics`, as `/leaderz`),
and for each lost shard with Applications when the first of them was synced at the pushed commit.

    python -m benchmarks.hand_over --applications 200
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

from rich.console import Console

from benchmarks.agent_setup import AgentSetup, create_namespace
from benchmarks.agent_setup import open_parts as open_benchmark_parts
from benchmarks.alone import Alone, parser_of, report_of, write
from benchmarks.cluster import BenchmarkWatch
from benchmarks.counters import look
from benchmarks.figures import Figure, table_of
from benchmarks.floor import each_once
from benchmarks.pushing import deliver
from benchmarks.replicas import all_synced, running
from benchmarks.workload import (
    APPLICATIONS,
    DESTINATION,
    NAMESPACE,
    application,
    changed,
    files,
    names,
)
from bus.identity import SHARDS, AppKey, shard_of
from playground.build import build_sandbox
from playground.screen import watching

WORK = "one of two replicas gets the signal, and at once a push changes every Application"
_WITHIN = 600.0
_LOOK = 0.1
_AIM = 20.0


async def hand_over(sandbox: Path, count: int, sent: signal.Signals) -> tuple[Figure, ...]:
    with tempfile.TemporaryDirectory(prefix="gitops-bench-") as folder:
        async with open_benchmark_parts(Path(folder), sandbox) as ground:
            ground.repository.commit(files(names(count)))
            await create_namespace(ground.cluster, DESTINATION)
            async with running(ground, 2) as (survivor, victim):
                await _create(survivor, count)
                try:
                    return await _measured(survivor, victim, names(count), sent)
                finally:
                    if sent is signal.SIGSTOP:
                        os.kill(victim.agent.pid or 0, signal.SIGCONT)


async def _create(agent: AgentSetup, count: int) -> None:
    bodies = [(APPLICATIONS, application(name, agent.repository.url)) for name in names(count)]
    async with asyncio.timeout(_WITHIN), agent.cluster.watch(APPLICATIONS) as watch:
        await each_once(agent.cluster, bodies, create=True)
        await all_synced(watch, frozenset(names(count)))


async def _measured(
    survivor: AgentSetup, victim: AgentSetup, apps: Sequence[str], sent: signal.Signals
) -> tuple[Figure, ...]:
    lost = await _shards(victim)
    shards = {name: shard_of(AppKey(NAMESPACE, name).token) for name in apps}
    busy = frozenset(lost & {*shards.values()})
    machine, head = look(), survivor.repository.head()
    async with asyncio.timeout(_WITHIN), survivor.cluster.watch(APPLICATIONS) as watch:
        began = time.monotonic()
        os.kill(victim.agent.pid or 0, sent)
        async with asyncio.TaskGroup() as tasks:
            held = tasks.create_task(_all_held(survivor), name="shards held")
            revision = survivor.repository.commit(
                {path: text for name in apps for path, text in changed(name, "2.0").items()}
            )
            acted = tasks.create_task(_acted(watch, shards, busy, revision), name="shards acted")
            await deliver(survivor, head, revision)
    waits = [at - began for at in acted.result().values()]
    return (
        Figure(name="shards lost", unit="", value=float(len(lost))),
        Figure(name="shards lost that have Applications", unit="", value=float(len(busy))),
        Figure(name="all held by the other", unit="s", value=held.result() - began, aim=_AIM),
        Figure(name="first lost shard acts", unit="s", value=min(waits)),
        Figure(name="half of them act", unit="s", value=median(waits)),
        Figure(name="last lost shard acts", unit="s", value=max(waits), aim=_AIM),
        Figure(
            name="the machine's CPU that others took", unit="%", value=look().others_share(machine)
        ),
    )


async def _shards(agent: AgentSetup) -> frozenset[str]:
    async with agent.session.get(f"{agent.metrics_url}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    return frozenset(it.split('"')[1] for it in lines if it.startswith("gitops_shard_term{"))


async def _all_held(agent: AgentSetup) -> float:
    while len(await _shards(agent)) < SHARDS:  # noqa: ASYNC110  processes tell nobody
        await asyncio.sleep(_LOOK)
    return time.monotonic()


async def _acted(
    watch: BenchmarkWatch, shards: dict[str, str], busy: frozenset[str], revision: str
) -> dict[str, float]:
    """When the first Application of each shard was synced at the pushed commit."""
    found: dict[str, float] = {}
    async for seen in watch:
        sync, shard = seen.object.status.sync, shards.get(seen.object.name, "")
        if shard in busy and (sync.status, sync.revision) == ("Synced", revision):
            found.setdefault(shard, seen.seen_at)
        if len(found) == len(busy):
            return found
    raise AssertionError("a watch has no end")


def main(arguments: Sequence[str]) -> int:
    parser = parser_of("hand_over", __doc__)
    parser.add_argument("--applications", type=int, default=200, metavar="N")
    options = parser.parse_args(arguments)
    log, out = Console(stderr=True), Console(width=120)
    with watching(log) as watch:
        sandbox = build_sandbox(watch)
    reports = []
    for sent in (signal.SIGKILL, signal.SIGSTOP):
        alone = Alone(
            benchmark=f"hand_over: {sent.name}",
            work=WORK,
            size=options.applications,
            measure=partial(hand_over, sandbox, options.applications, sent),
        )
        reports.append(report_of(alone, options.repeat))
        out.print(table_of(reports[-1]))
    write(options.json, *reports)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
