"""pushed_repositories: M repositories with one application each are pushed to at once.

Part of `benchmarks.sources`. The clock runs from the first commit to the watch event that shows
the last Deployment with its new image; each repository tells the agent by a webhook of its own.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.agent_setup import AgentSetup, create_namespace, open_agent_setup, open_parts
from benchmarks.alone import Alone
from benchmarks.cluster import BenchmarkWatch
from benchmarks.counters import look
from benchmarks.figures import Figure
from benchmarks.floor import each_once
from benchmarks.monorepo_noop import settled
from benchmarks.pushing import deliver
from benchmarks.workload import (
    APPLICATIONS,
    DEPLOYMENTS,
    DESTINATION,
    FIRST_TAG,
    application,
    changed,
    files,
    names,
)
from playground.githost import HostedRepository

WORK = "M repositories of one application each: a commit and a webhook for all of them at once"
_WITHIN = 600.0
_TAG = "2.0"


def pushed_repositories(sandbox: Path, count: int) -> Alone:
    return Alone(
        benchmark="sources: repositories pushed at once",
        work=WORK,
        size=count,
        measure=partial(measure_repositories, sandbox, count),
    )


async def measure_repositories(sandbox: Path, count: int) -> tuple[Figure, ...]:
    with tempfile.TemporaryDirectory(prefix="gitops-bench-") as folder:
        async with open_parts(Path(folder), sandbox) as ground:
            await create_namespace(ground.cluster, DESTINATION)
            repositories = [ground.playground.git.create(f"bench/{name}") for name in names(count)]
            for name, repository in zip(names(count), repositories, strict=True):
                repository.commit(files((name,)))
            async with open_agent_setup(ground) as setup:
                return await _measured(setup, repositories)


async def _measured(
    setup: AgentSetup, repositories: Sequence[HostedRepository]
) -> tuple[Figure, ...]:
    work = dict(zip(names(len(repositories)), repositories, strict=True))
    bodies = [(APPLICATIONS, application(name, it.url)) for name, it in work.items()]
    async with asyncio.timeout(_WITHIN), setup.cluster.watch(DEPLOYMENTS) as watch:
        await each_once(setup.cluster, bodies, create=True)
        await _live(watch, len(work), FIRST_TAG)
        before, machine = await settled(setup), look()
        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            live = tasks.create_task(_live(watch, len(work), _TAG), name="all live")
            for name, repository in work.items():
                tasks.create_task(_push(setup, repository, name), name=f"push {name}")
    walls = sorted(seen_at - began for seen_at in live.result())
    done = (await settled(setup)).since(before)
    return (
        Figure(name="all live, wall", unit="s", value=walls[-1]),
        Figure(name="live, p50", unit="s", value=statistics.median(walls)),
        Figure(name="renders", unit="", value=done.renders, aim=len(work)),
        Figure(name="fetches", unit="", value=done.fetches),
        Figure(name="CPU of the agent", unit="s", value=done.cpu.get("agent", 0.0)),
        Figure(
            name="the machine's CPU that others took", unit="%", value=look().others_share(machine)
        ),
    )


async def _push(setup: AgentSetup, repository: HostedRepository, name: str) -> None:
    before = repository.head()
    after = repository.commit(changed(name, _TAG), message=f"{name} {_TAG}")
    await deliver(setup, before, after, repository)


async def _live(watch: BenchmarkWatch, count: int, tag: str) -> Sequence[float]:
    """The moments at which each Deployment first had an image with this tag."""
    live: dict[str, float] = {}
    async for seen in watch:
        if seen.object.image.endswith(f":{tag}"):
            live.setdefault(seen.object.name, seen.seen_at)
        if len(live) == count:
            return list(live.values())
    raise AssertionError("a watch has no end")
