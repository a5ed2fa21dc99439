"""The whole suite with three applications: it cannot rot, and what it counts is what is promised.

Nothing here is a time.
"""

from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.figures import BenchmarkReport, FigureRow
from benchmarks.progress import ProgressScreen
from benchmarks.suite import Benchmark, SuitePlan, of_memory, on_real_parts

QUIET = ProgressScreen(Console(quiet=True), None)


def plan(sandbox: Path) -> SuitePlan:
    return SuitePlan(
        applications=3, repeats=1, only=frozenset(Benchmark), sandbox=sandbox, idle_seconds=1
    )


def by_name(report: BenchmarkReport) -> dict[str, FigureRow]:
    return {row.name: row for row in report.rows}


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("own_servers")
async def test_three_applications_through_the_whole_suite(sandbox_binary: Path) -> None:
    reports: dict[str, BenchmarkReport] = {}

    await on_real_parts(
        plan(sandbox_binary), QUIET, lambda one: reports.update({one.benchmark: one})
    )

    assert list(reports) == [
        "mass_sync",
        "push_to_synced",
        "monorepo_noop",
        "drift",
        "idle",
        "big_app",
        "noisy_neighbour",
    ]
    mass = by_name(reports["mass_sync"])
    assert mass["all Synced, wall"].ratio is not None
    assert mass["renders"].value == 3
    assert mass["the same, counted by the API server"].value <= 6
    pushes = by_name(reports["push_to_synced"])
    assert pushes["webhook accepted -> object changed, p50"].value > 0
    assert {name for name in pushes if name.startswith("hop")} == {
        "hop, p50: fetched and resolved",
        "hop, p50: rendered",
        "hop, p50: compared",
        "hop, p50: applied, status written",
    }
    noop = by_name(reports["monorepo_noop"])
    assert (noop["renders"].value, noop["applies"].value, noop["writes, all"].value) == (1, 1, 2)
    untouched = (noop["touching none: renders"].value, noop["touching none: writes"].value)
    assert untouched == (0, 0)
    assert by_name(reports["drift"])["writes to the object, a heal"].value == 1
    assert by_name(reports["idle"])["writes, no Leases"].value == 0
    big = by_name(reports["big_app"])
    assert big["first sync: writes of objects"].value == big["objects"].value == 30
    assert big["no change: writes of objects"].value == 0
    assert by_name(reports["noisy_neighbour"])["the same beside them, longest"].aim == 2000


def test_memory_is_measured_in_processes_of_its_own(tmp_path: Path) -> None:
    report = of_memory(plan(tmp_path), QUIET, (100, 200))

    assert [row.name for row in report.rows] == [
        "resident bytes per object at 100 objects",
        "resident bytes per object at 200 objects",
    ]
