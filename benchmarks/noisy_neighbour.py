"""noisy_neighbour: three projects have a template without end; how late is a stranger's push?

The pushes follow each other from the moment at which the three Applications are there: the first
ones meet the short first tries, the others the slow queue. The same pushes without them go before.
"""

from __future__ import annotations

import statistics
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from benchmarks.agent_setup import AgentSetup
from benchmarks.cluster import Object
from benchmarks.figures import Figure
from benchmarks.progress import OnProgress
from benchmarks.pushing import Eyes, push
from benchmarks.workload import APPLICATIONS, DEPLOYMENTS, NAMESPACE, application, names

WORK = "pushes to one of N applications, without and with three endless templates beside them"
PUSHES = 10
_PROJECTS = tuple(f"noisy-{number}" for number in range(3))
_PROJECT_PATH = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/appprojects"
_LOOP = "{{ range $i := 9000000000000 }}{{ end }}\n"
_AIM_MS = 2000.0


async def noisy_neighbour(
    setup: AgentSetup, count: int, progress: OnProgress
) -> tuple[Figure, ...]:
    quiet = await _pushes(setup, names(count), "4", progress)
    async with _neighbours(setup):
        noisy = await _pushes(setup, names(count), "5", progress)
    return (
        Figure(name="git push done -> Synced, alone, p50", unit="ms", value=_p50(quiet)),
        Figure(name="the same, longest", unit="ms", value=max(quiet)),
        Figure(name="git push done -> Synced, beside them, p50", unit="ms", value=_p50(noisy)),
        Figure(name="the same beside them, longest", unit="ms", value=max(noisy), aim=_AIM_MS),
    )


async def _pushes(
    setup: AgentSetup, applications: Sequence[str], tag: str, progress: OnProgress
) -> list[float]:
    """Milliseconds from each push to Synced."""
    samples: list[float] = []
    async with (
        setup.cluster.watch(DEPLOYMENTS) as changes,
        setup.cluster.watch(APPLICATIONS) as syncs,
    ):
        eyes = Eyes(deployments=changes, applications=syncs)
        for number in range(PUSHES):
            name = applications[number % len(applications)]
            pushed = await push(setup, eyes, name, f"{tag}.{number}")
            samples.append((pushed.synced - pushed.pushed) * 1000)
            progress(number + 1, PUSHES)
    return samples


@asynccontextmanager
async def _neighbours(setup: AgentSetup) -> AsyncIterator[None]:
    """A project each, so that no two of them share a turn; gone at the end."""
    setup.repository.commit(_charts(), message="charts without end")
    for name in _PROJECTS:
        await setup.cluster.create(_PROJECT_PATH, _project(name))
    for name in _PROJECTS:
        await setup.cluster.create(APPLICATIONS, _application(name, setup.repository.url))
    try:
        yield
    finally:
        for name in _PROJECTS:
            await setup.cluster.delete(f"{APPLICATIONS}/{name}")
            await setup.cluster.delete(f"{_PROJECT_PATH}/{name}")


def _charts() -> dict[str, str]:
    charts = {f"charts/{name}/Chart.yaml": _chart(name) for name in _PROJECTS}
    return charts | {f"charts/{name}/templates/loop.yaml": _LOOP for name in _PROJECTS}


def _chart(name: str) -> str:
    return f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n"


def _project(name: str) -> Object:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]},
    }


def _application(name: str, url: str) -> Object:
    made = application(name, url)
    source = {**made["spec"]["source"], "path": f"charts/{name}"}
    return {**made, "spec": {**made["spec"], "project": name, "source": source}}


def _p50(samples: Sequence[float]) -> float:
    return statistics.median(samples)
