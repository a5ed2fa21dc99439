"""The benchmarks of the service promise counts: nothing twice, nothing missing. They run alone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from benchmarks import catch_up, suite
from benchmarks.alone import Alone
from benchmarks.figures import BenchmarkReport, BenchmarkResults, Figure
from benchmarks.progress import ProgressScreen
from benchmarks.suite import Benchmark, SuitePlan


def test_after_a_cut_nothing_is_told_twice_and_nothing_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "results" / "catch_up.json"
    assert catch_up.main(["--reports", "2000", "--json", str(file)]) == 0
    (report,) = msgspec.json.decode(file.read_bytes(), type=BenchmarkResults).reports
    found = {row.name: row.value for row in report.rows}
    assert (report.benchmark, report.applications) == ("catch_up", 2000)
    assert (found["duplicates"], found["missing"]) == (0, 0)
    assert found["sent again"] > 0


@pytest.mark.parametrize("benchmark", suite.SERVICE_BENCHMARKS)
def test_the_suite_runs_each_of_them_as_often_as_asked(
    benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    values = iter((3.0, 1.0, 2.0))

    async def measure() -> tuple[Figure, ...]:
        return (Figure(name="lag", unit="ms", value=next(values)),)

    quick = Alone(benchmark=benchmark, work="none", size=7, measure=measure)
    monkeypatch.setitem(suite.SERVICE_BENCHMARKS, benchmark, lambda: quick)
    reports: list[BenchmarkReport] = []
    plan = SuitePlan(applications=3, repeats=3, only=frozenset({benchmark}), sandbox=tmp_path)
    suite.of_service(plan, ProgressScreen(Console(quiet=True), None), reports.append)
    ((row,),) = (report.rows for report in reports)
    assert (row.value, row.low, row.high, row.repeats) == (2.0, 1.0, 3.0, 3)


def test_each_of_them_says_its_size_and_work() -> None:
    made = {name: alone() for name, alone in suite.SERVICE_BENCHMARKS.items()}
    assert {str(name): it.size for name, it in made.items()} == {
        "fan_out": 500,
        "catch_up": 10_000,
        "service_load": 10_000,
        "storm": 5_000,
    }
    assert all(name == it.benchmark and it.work for name, it in made.items())
