"""`python -m benchmarks --applications N --repeat R [--only NAME] [--idle-seconds S]
[--json FILE]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import uvloop
from rich.console import Console

from benchmarks import suite
from benchmarks.alone import write
from benchmarks.figures import BenchmarkReport, table_of
from benchmarks.memory import SIZES
from benchmarks.progress import open_screen
from benchmarks.suite import Benchmark, SuitePlan
from playground.build import build_sandbox
from playground.screen import watching

_WIDTH = 120
"""Of a table in a file."""


def main(arguments: Sequence[str]) -> int:
    options = _arguments().parse_args(arguments)
    log, out = Console(stderr=True), Console()
    out = out if out.is_terminal else Console(width=_WIDTH)
    with watching(log) as watch:
        sandbox = build_sandbox(watch)
    plan = SuitePlan(
        applications=options.applications,
        repeats=options.repeat,
        only=frozenset(options.only or Benchmark),
        sandbox=sandbox,
        idle_seconds=options.idle_seconds,
    )
    reports: list[BenchmarkReport] = []

    def report_one(report: BenchmarkReport) -> None:
        reports.append(report)
        out.print(table_of(report))

    with open_screen(log) as screen:
        uvloop.run(suite.on_real_parts(plan, screen, report_one))
        if Benchmark.MEMORY in plan.only:
            report_one(suite.of_memory(plan, screen, SIZES))
        suite.of_service(plan, screen, report_one)
    write(options.json, *reports)
    print(f"written: {options.json}")
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--applications", type=int, default=1000, metavar="N")
    parser.add_argument("--repeat", type=int, default=1, metavar="R")
    parser.add_argument("--idle-seconds", type=float, default=600.0, metavar="S")
    parser.add_argument("--only", type=Benchmark, action="append", choices=list(Benchmark))
    parser.add_argument("--json", type=Path, default=Path("bench-results/results.json"))
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
