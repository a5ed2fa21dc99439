"""Benchmarks of the service open what they need by themselves; they run alone or in the suite."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from rich.console import Console

from benchmarks.figures import BenchmarkReport, BenchmarkResults, Figure, rows, table_of
from benchmarks.machine import load, machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    benchmark: str
    work: str
    """What is measured, in words."""
    size: int
    measure: Callable[[], Coroutine[Any, Any, Sequence[Figure]]]


def report_of(alone: Alone, repeats: int) -> BenchmarkReport:
    before = load()
    found = [uvloop.run(alone.measure()) for _ in range(repeats)]
    return BenchmarkReport(
        benchmark=alone.benchmark,
        applications=alone.size,
        work=alone.work,
        rows=rows(found),
        load_before=before,
    )


def parser_of(name: str, description: str | None) -> argparse.ArgumentParser:
    """With what each of them takes; sizes are their own."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    parser.add_argument("--repeat", type=int, default=1, metavar="R")
    parser.add_argument("--json", type=Path, default=Path(f"bench-results/{name}.json"))
    return parser


def run_alone(alone: Alone, options: argparse.Namespace) -> int:
    """As the command line said: a table for people, all figures for programs."""
    report = report_of(alone, options.repeat)
    Console().print(table_of(report))
    write(options.json, report)
    return 0


def run_each(measured: Iterable[Alone], options: argparse.Namespace) -> int:
    """Likewise for several, one after the other; each is shown as soon as it is known."""
    out, reports = Console(width=120), []
    for alone in measured:
        reports.append(report_of(alone, options.repeat))
        out.print(table_of(reports[-1]))
    write(options.json, *reports)
    return 0


def write(file: Path, *reports: BenchmarkReport) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    results = BenchmarkResults(machine=machine(), reports=reports)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(results)))
