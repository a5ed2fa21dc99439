"""A benchmark of the far end opens what it needs by itself: it runs alone, or in the suite."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from rich.console import Console

from benchmarks.figures import Figure, Report, Results, rows
from benchmarks.machine import load, machine
from benchmarks.table import table_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    benchmark: str
    work: str
    """What is measured, in words."""
    size: int
    measure: Callable[[], Coroutine[Any, Any, Sequence[Figure]]]


def report_of(alone: Alone, repeats: int) -> Report:
    before = load()
    found = [uvloop.run(alone.measure()) for _ in range(repeats)]
    return Report(
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


def run_alone(alone: Alone, said: argparse.Namespace) -> int:
    """As the command line said: a table for people, all figures for programs."""
    report = report_of(alone, said.repeat)
    Console().print(table_of(report))
    write(said.json, report)
    return 0


def write(file: Path, *reports: Report) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    results = Results(machine=machine(), reports=reports)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(results)))
