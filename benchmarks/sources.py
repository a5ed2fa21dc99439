"""sources: the same N applications from Git, a Helm repository, an OCI registry and two sources.

For each kind a fresh API server and agent: N Applications of one chart are created at once, then a
release changes the Deployment of all of them, then there is nothing new. Each time the benchmark
asks for a look at the repositories, as a webhook or the poll does: not every kind has a webhook.
Fetches are the agent's later looks at a repository or registry: the first one of a source is made
when it is first needed, and counts as a connection only. Bytes are what the hosts sent.

    python -m benchmarks.sources --applications 200 --repositories 50 --pushes 30
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks.agent_setup import AgentSetup, create_namespace, open_agent_setup, open_parts
from benchmarks.alone import Alone, parser_of, run_each
from benchmarks.cluster import BenchmarkWatch
from benchmarks.counters import Snapshot, look
from benchmarks.figures import Figure
from benchmarks.floor import each_once
from benchmarks.monorepo_noop import settled
from benchmarks.pushed_repositories import pushed_repositories
from benchmarks.source_kinds import MeasuredSource, OpenSource, Traffic, open_source, tag_of
from benchmarks.ssh_pushes import ssh_pushes
from benchmarks.workload import (
    APPLICATIONS,
    DEPLOYMENTS,
    DESTINATION,
    Object,
    application,
    names,
)
from bus.events import RefreshRepository
from playground.build import build_registry, build_sandbox
from playground.screen import watching

WORK = "N Applications of one chart: created at once, released once more, looked at in vain"
_WITHIN = 900.0


async def sources(
    sandbox: Path, registry: Path, kind: MeasuredSource, count: int
) -> tuple[Figure, ...]:
    with tempfile.TemporaryDirectory(prefix="gitops-bench-") as folder:
        async with AsyncExitStack() as stack:
            ground = await stack.enter_async_context(open_parts(Path(folder), sandbox))
            source = await stack.enter_async_context(
                open_source(kind, ground, Path(folder), registry)
            )
            await source.release(0)
            await create_namespace(ground.cluster, DESTINATION)
            setup = await stack.enter_async_context(open_agent_setup(ground))
            return await _measured(setup, source, count)


async def _measured(setup: AgentSetup, source: OpenSource, count: int) -> tuple[Figure, ...]:
    machine = look()
    first = await _first(setup, source, count)
    again = await _released(setup, source, count)
    vain = await _in_vain(setup, source)
    others = look().others_share(machine)
    return (
        *first,
        *again,
        *vain,
        Figure(name="the machine's CPU that others took", unit="%", value=others),
    )


async def _first(setup: AgentSetup, source: OpenSource, count: int) -> tuple[Figure, ...]:
    before, sent, began = await setup.snapshot(), source.traffic, time.monotonic()
    bodies = [(APPLICATIONS, _application(name, source)) for name in names(count)]
    async with (
        asyncio.timeout(_WITHIN),
        setup.cluster.watch(DEPLOYMENTS) as watch,
        asyncio.TaskGroup() as tasks,
    ):
        live = tasks.create_task(_all_run(watch, count, tag_of(0)), name="all live")
        await each_once(setup.cluster, bodies, create=True)
    done = (await settled(setup)).since(before)
    wall = live.result() - began
    return _figures("first", wall, done, source.traffic.since(sent))


async def _released(setup: AgentSetup, source: OpenSource, count: int) -> tuple[Figure, ...]:
    before, sent = await setup.snapshot(), source.traffic
    async with asyncio.timeout(_WITHIN), setup.cluster.watch(DEPLOYMENTS) as watch:
        await source.release(1)
        began = time.monotonic()
        await _look(setup, source)
        wall = await _all_run(watch, count, tag_of(1)) - began
    done = (await settled(setup)).since(before)
    return _figures("released", wall, done, source.traffic.since(sent))


async def _in_vain(setup: AgentSetup, source: OpenSource) -> tuple[Figure, ...]:
    before, sent = await settled(setup), source.traffic
    await _look(setup, source)
    done = (await settled(setup)).since(before)
    return (
        Figure(name="looked at in vain: renders", unit="", value=done.renders, aim=0),
        *_fetched("looked at in vain", done, source.traffic.since(sent)),
    )


def _fetched(name: str, done: Snapshot, traffic: Traffic) -> tuple[Figure, ...]:
    return (
        Figure(name=f"{name}: fetches", unit="", value=done.fetches),
        Figure(name=f"{name}: connections to the hosts", unit="", value=traffic.connections),
        Figure(name=f"{name}: sent by the hosts", unit="B", value=traffic.sent),
    )


def _figures(name: str, wall: float, done: Snapshot, traffic: Traffic) -> tuple[Figure, ...]:
    return (
        Figure(name=f"{name}: all Deployments live, wall", unit="s", value=wall),
        Figure(name=f"{name}: renders", unit="", value=done.renders),
        *_fetched(name, done, traffic),
        Figure(name=f"{name}: CPU of the agent", unit="s", value=done.cpu.get("agent", 0.0)),
        Figure(name=f"{name}: CPU of the sandbox", unit="s", value=done.cpu.get("sandbox", 0.0)),
    )


def _application(name: str, source: OpenSource) -> Object:
    body = application(name, "")
    spec = {key: value for key, value in body["spec"].items() if key != "source"}
    return {**body, "spec": {**spec, **source.spec}}


async def _look(setup: AgentSetup, source: OpenSource) -> None:
    """Ask for a look at each repository, as a webhook and the poll do."""
    for repository in source.repositories:
        await setup.bus.publish(RefreshRepository(repository=repository))


async def _all_run(watch: BenchmarkWatch, count: int, tag: str) -> float:
    """Wait until every Deployment has an image with this tag; the moment of the last event."""
    live: set[str] = set()
    async for seen in watch:
        if seen.object.image.endswith(f":{tag}"):
            live.add(seen.object.name)
        if len(live) == count:
            return seen.seen_at
    raise AssertionError("a watch has no end")


def main(arguments: Sequence[str]) -> int:
    parser = parser_of("sources", __doc__)
    parser.add_argument("--applications", type=int, default=200, metavar="N")
    parser.add_argument("--repositories", type=int, default=50, metavar="M")
    parser.add_argument("--pushes", type=int, default=30, metavar="P")
    options = parser.parse_args(arguments)
    with watching(Console(stderr=True)) as watch:
        sandbox, registry = build_sandbox(watch), build_registry(watch)
    count, repositories, pushes = options.applications, options.repositories, options.pushes
    measured = [
        Alone(
            benchmark=f"sources: {kind}",
            work=WORK,
            size=count,
            measure=partial(sources, sandbox, registry, kind, count),
        )
        for kind in MeasuredSource
    ]
    measured += [pushed_repositories(sandbox, repositories), ssh_pushes(sandbox, pushes)]
    return run_each(measured, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
