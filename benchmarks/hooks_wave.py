"""hooks_wave: N applications with a PreSync Job and three waves; how long until all have run?

There are no controllers, so the benchmark ends each Job as soon as its own watch shows it: what is
left is the way of an operation from one step to the next. The objects of the waves have no health
to wait for, or have it at once. The machine has few cores: the figures are those of N at once.

    python -m benchmarks.hooks_wave --applications 100
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import yaml
from rich.console import Console

from benchmarks.agent_setup import AgentSetup, create_namespace, open_agent_setup, open_parts
from benchmarks.alone import Alone, parser_of, run_alone
from benchmarks.cluster import BenchmarkCluster, BenchmarkWatch
from benchmarks.counters import look
from benchmarks.figures import Figure
from benchmarks.floor import each_once
from benchmarks.workload import APPLICATIONS, DESTINATION, Object, application, names
from playground.build import build_sandbox
from playground.screen import watching

WORK = "N Applications with a PreSync Job and three waves of one object, created at once"
WAVES = 3
_JOBS = f"/apis/batch/v1/namespaces/{DESTINATION}/jobs"
_WITHIN = 900.0
_HOOK = "argocd.argoproj.io/hook"
_WAVE = "argocd.argoproj.io/sync-wave"


async def hooks_wave(sandbox: Path, count: int) -> tuple[Figure, ...]:
    with tempfile.TemporaryDirectory(prefix="gitops-bench-") as folder:
        async with open_parts(Path(folder), sandbox) as ground:
            ground.repository.commit(files(names(count)))
            await create_namespace(ground.cluster, DESTINATION)
            async with open_agent_setup(ground) as setup:
                return await _measured(setup, names(count))


def files(applications: Sequence[str]) -> dict[str, str]:
    return {
        f"apps/{name}/all.yaml": yaml.safe_dump_all((_job(name), *_waves(name)))
        for name in applications
    }


async def _measured(setup: AgentSetup, applications: Sequence[str]) -> tuple[Figure, ...]:
    bodies = [(APPLICATIONS, application(name, setup.repository.url)) for name in applications]
    async with (
        asyncio.timeout(_WITHIN),
        setup.cluster.watch(APPLICATIONS) as watch,
        setup.cluster.watch(_JOBS) as jobs,
    ):
        before, machine, began = await setup.snapshot(), look(), time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            ended = tasks.create_task(_succeeded(watch, frozenset(applications)), name="succeeded")
            tasks.create_task(_end_jobs(setup.cluster, jobs, len(applications)), name="jobs")
            await each_once(setup.cluster, bodies, create=True)
    done = (await setup.snapshot()).since(before)
    walls = sorted(seen_at - began for seen_at in ended.result().values())
    count = len(applications)
    writes = done.written("applications") / count - 1
    return (
        Figure(name="all Succeeded, wall", unit="s", value=walls[-1]),
        Figure(name="created -> Succeeded, p50", unit="s", value=statistics.median(walls)),
        Figure(name="writes of an Application, besides its creation", unit="", value=writes),
        Figure(name="agent's calls per application", unit="calls", value=done.requests / count),
        Figure(name="renders", unit="", value=done.renders),
        *(
            Figure(name=f"CPU of {role}", unit="s", value=seconds)
            for role, seconds in sorted(done.cpu.items(), key=lambda item: -item[1])
        ),
        Figure(
            name="the machine's CPU that others took", unit="%", value=look().others_share(machine)
        ),
    )


async def _end_jobs(cluster: BenchmarkCluster, watch: BenchmarkWatch, count: int) -> None:
    """Stand in for kubelet and job controller: each Job has run as soon as it is there."""
    ended: set[str] = set()
    async for seen in watch:
        name = seen.object.name
        if name not in ended:
            ended.add(name)
            body = {"status": _ended_status()}
            await cluster.edit(f"{_JOBS}/{name}/status", body, "benchmark")
        if len(ended) == count:
            return


async def _succeeded(watch: BenchmarkWatch, expected: frozenset[str]) -> dict[str, float]:
    """Note for each application when its operation had ended well; another end is an error."""
    ended: dict[str, float] = {}
    async for seen in watch:
        phase = seen.object.status.operation_state.phase
        if phase in ("Failed", "Error"):
            raise AssertionError(f"the operation of {seen.object.name} ended as {phase}")
        if phase == "Succeeded" and seen.object.name in expected:
            ended.setdefault(seen.object.name, seen.seen_at)
        if len(ended) == len(expected):
            return ended
    raise AssertionError("a watch has no end")


def _ended_status() -> Object:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": now}
        for kind in ("SuccessCriteriaMet", "Complete")
    ]
    return {"startTime": now, "completionTime": now, "succeeded": 1, "conditions": conditions}


def _job(name: str) -> Object:
    container = {"name": "migrate", "image": "registry.example/team/migrate:1.0"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"{name}-migrate", "annotations": {_HOOK: "PreSync"}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }


def _waves(name: str) -> tuple[Object, ...]:
    return tuple(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"{name}-{wave}", "annotations": {_WAVE: str(wave)}},
            "data": {"wave": str(wave)},
        }
        for wave in range(WAVES)
    )


def main(arguments: Sequence[str]) -> int:
    parser = parser_of("hooks_wave", __doc__)
    parser.add_argument("--applications", type=int, default=100, metavar="N")
    options = parser.parse_args(arguments)
    with watching(Console(stderr=True)) as watch:
        sandbox = build_sandbox(watch)
    measure = partial(hooks_wave, sandbox, options.applications)
    alone = Alone(benchmark="hooks_wave", work=WORK, size=options.applications, measure=measure)
    return run_alone(alone, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
