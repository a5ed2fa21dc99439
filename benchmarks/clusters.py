"""clusters: one agent, and 1, 3 or 10 destinations; what does a session cost, and a dead one?

A fresh world for each number. All destinations are one API server, each behind a relay of its own
and with a namespace of its own: the agent sees as many clusters, with a client, watches and an
index each, and the machine has one to carry. N applications are divided among them. Ten pushes go
to the first destination, and ten more while the last one takes connections and answers nothing.

    python -m benchmarks.clusters --applications 60 --destinations 1 3 10
"""

from __future__ import annotations

import asyncio
import base64
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console

from benchmarks.agent_setup import (
    AgentSetup,
    BenchmarkParts,
    create_namespace,
    open_agent_setup,
    open_parts,
)
from benchmarks.alone import Alone, parser_of, run_each
from benchmarks.cluster import BenchmarkWatch
from benchmarks.counters import look, resident_of, seconds_of
from benchmarks.figures import Figure
from benchmarks.floor import each_once
from benchmarks.pushing import Eyes, push
from benchmarks.relay import Relay
from benchmarks.workload import APPLICATIONS, NAMESPACE, Object, application, files, names
from playground.build import build_sandbox
from playground.screen import watching

WORK = "N applications in 1, 3 and 10 clusters; 10 pushes, and 10 more while one cluster is dead"
_PUSHES = 10
_WITHIN = 900.0
_IDLE_SECONDS = 20.0
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Looks:
    """How long the agent is looked at while idle, and how often a push is."""

    idle_seconds: float
    pushes: int


async def clusters(
    sandbox: Path,
    count: int,
    destinations: int,
    *,
    idle_seconds: float = _IDLE_SECONDS,
    pushes: int = _PUSHES,
) -> tuple[Figure, ...]:
    with tempfile.TemporaryDirectory(prefix="gitops-bench-") as folder:
        async with AsyncExitStack() as stack:
            ground = await stack.enter_async_context(open_parts(Path(folder), sandbox))
            parts = urlsplit(ground.playground.kubernetes.access.url)
            target = (parts.hostname or "", parts.port or 443)
            ground.repository.commit(files(names(count)))
            relays = [
                await stack.enter_async_context(Relay(target).open()) for _ in range(destinations)
            ]
            for number, relay in enumerate(relays):
                await create_namespace(ground.cluster, _space(number))
                await ground.cluster.create(
                    f"/api/v1/namespaces/{NAMESPACE}/secrets", _secret(ground, number, relay)
                )
            setup = await stack.enter_async_context(open_agent_setup(ground))
            return await _measured(setup, count, relays, Looks(idle_seconds, pushes))


async def _measured(
    setup: AgentSetup, count: int, relays: Sequence[Relay], looks: Looks
) -> tuple[Figure, ...]:
    destinations, machine = len(relays), look()
    bodies = [
        (APPLICATIONS, _placed(application(name, setup.repository.url), number % destinations))
        for number, name in enumerate(names(count))
    ]
    async with asyncio.timeout(_WITHIN), setup.cluster.watch(APPLICATIONS) as watch:
        began = time.monotonic()
        await each_once(setup.cluster, bodies, create=True)
        wall = await _all_synced(watch, count) - began
    busy = seconds_of(setup.agent.pid)
    await asyncio.sleep(looks.idle_seconds)
    idle = (seconds_of(setup.agent.pid) - busy) / looks.idle_seconds
    memory = resident_of(setup.agent.pid) / _MIB
    alive = await _pushes(setup, "2", looks.pushes)
    figures = [
        Figure(name="created at once: all Synced, wall", unit="s", value=wall),
        Figure(name="memory of the agent", unit="MiB", value=memory),
        Figure(name="idle: cores of the agent", unit="", value=idle),
        *_latency("push -> object changed", alive),
    ]
    if destinations > 1:
        relays[-1].stop()
        figures += _latency(
            "the same while one cluster is dead", await _pushes(setup, "3", looks.pushes)
        )
    return (
        *figures,
        Figure(
            name="the machine's CPU that others took", unit="%", value=look().others_share(machine)
        ),
    )


async def _all_synced(watch: BenchmarkWatch, count: int) -> float:
    """The moment of the event that told of the last one."""
    synced: set[str] = set()
    async for seen in watch:
        if seen.object.status.sync.status == "Synced":
            synced.add(seen.object.name)
        if len(synced) == count:
            return seen.seen_at
    raise AssertionError("a watch has no end")


async def _pushes(setup: AgentSetup, version: str, count: int) -> list[float]:
    """Push to the application of the first destination; milliseconds until its object changed."""
    name = names(1)[0]
    found: list[float] = []
    async with (
        setup.cluster.watch(f"/apis/apps/v1/namespaces/{_space(0)}/deployments") as deployments,
        setup.cluster.watch(APPLICATIONS) as applications,
    ):
        eyes = Eyes(deployments=deployments, applications=applications)
        for number in range(count):
            done = await push(setup, eyes, name, f"{version}.{number}")
            found.append((done.changed - done.pushed) * 1000)
    return found


def _latency(name: str, found: Sequence[float]) -> list[Figure]:
    return [
        Figure(name=f"{name}, p50", unit="ms", value=statistics.median(found)),
        Figure(name=f"{name}, longest of {len(found)}", unit="ms", value=max(found)),
    ]


def _space(number: int) -> str:
    return f"bench-{number}"


def _placed(body: Object, number: int) -> Object:
    destination = {"name": f"cluster-{number}", "namespace": _space(number)}
    return {**body, "spec": {**body["spec"], "destination": destination}}


def _secret(ground: BenchmarkParts, number: int, relay: Relay) -> Object:
    access = ground.playground.kubernetes.access
    authority = base64.b64encode(access.ca_file.read_bytes()).decode()
    config = {"bearerToken": access.token, "tlsClientConfig": {"caData": authority}}
    return {
        "metadata": {
            "name": f"cluster-{number}",
            "labels": {"argocd.argoproj.io/secret-type": "cluster"},
        },
        "stringData": {
            "name": f"cluster-{number}",
            "server": f"https://127.0.0.1:{relay.port}",
            "namespaces": _space(number),
            "config": json.dumps(config),
        },
    }


def main(arguments: Sequence[str]) -> int:
    parser = parser_of("clusters", __doc__)
    parser.add_argument("--applications", type=int, default=60, metavar="N")
    parser.add_argument("--destinations", type=int, nargs="+", default=[1, 3, 10], metavar="D")
    options = parser.parse_args(arguments)
    with watching(Console(stderr=True)) as watch:
        sandbox = build_sandbox(watch)
    measured = (
        Alone(
            benchmark=f"clusters: {number}",
            work=WORK,
            size=options.applications,
            measure=partial(clusters, sandbox, options.applications, number),
        )
        for number in options.destinations
    )
    return run_each(measured, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
