"""noisy_neighbour: three projects have a template without end; how late is a stranger's push?

The pushes follow each other from the moment at which the three Applications are there: the first
ones meet the short first tries, the others the slow queue. The same pushes without them go before.
"""

from __future__ import annotations

import statistics
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from benchmarks.cluster import Object
from benchmarks.figures import Figure
from benchmarks.house import House
from benchmarks.progress import Say
from benchmarks.pushing import Eyes, push
from benchmarks.workload import APPLICATIONS, DEPLOYMENTS, NAMESPACE, application, names

WORK = "pushes to one of N applications, without and with three endless templates beside them"
PUSHES = 10
_PROJECTS = tuple(f"noisy-{number}" for number in range(3))
_PROJECT_PATH = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/appprojects"
_LOOP = "{{ range $i := 9000000000000 }}{{ end }}\n"
_AIM_MS = 2000.0


async def noisy_neighbour(house: House, count: int, say: Say) -> tuple[Figure, ...]:
    quiet = await _pushes(house, names(count), "4", say)
    async with _neighbours(house):
        noisy = await _pushes(house, names(count), "5", say)
    return (
        Figure(name="git push done -> Synced, alone, p50", unit="ms", value=_p50(quiet)),
        Figure(name="the same, longest", unit="ms", value=max(quiet)),
        Figure(name="git push done -> Synced, beside them, p50", unit="ms", value=_p50(noisy)),
        Figure(name="the same beside them, longest", unit="ms", value=max(noisy), aim=_AIM_MS),
    )


async def _pushes(house: House, applications: Sequence[str], tag: str, say: Say) -> list[float]:
    """Milliseconds from each push to Synced."""
    samples: list[float] = []
    async with (
        house.cluster.watch(DEPLOYMENTS) as changes,
        house.cluster.watch(APPLICATIONS) as syncs,
    ):
        eyes = Eyes(deployments=changes, applications=syncs)
        for number in range(PUSHES):
            name = applications[number % len(applications)]
            pushed = await push(house, eyes, name, f"{tag}.{number}")
            samples.append((pushed.synced - pushed.pushed) * 1000)
            say(number + 1, PUSHES)
    return samples


@asynccontextmanager
async def _neighbours(house: House) -> AsyncIterator[None]:
    """A project each, so that no two of them share a turn; gone at the end."""
    house.repository.commit(_charts(), message="charts without end")
    for name in _PROJECTS:
        await house.cluster.create(_PROJECT_PATH, _project(name))
    for name in _PROJECTS:
        await house.cluster.create(APPLICATIONS, _application(name, house.repository.url))
    try:
        yield
    finally:
        for name in _PROJECTS:
            await house.cluster.delete(f"{APPLICATIONS}/{name}")
            await house.cluster.delete(f"{_PROJECT_PATH}/{name}")


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
