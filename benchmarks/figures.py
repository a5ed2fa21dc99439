"""Figures: what a benchmark found, once per repeat; and the reports they become. Pure.

A figure says its unit, and where they exist the floor of the same run and the aim. It is never
judged here: a missed aim is for the reader, and for docs/benchmarks.md to explain.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec
from rich.table import Table

from benchmarks.machine import Machine


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    unit: str
    value: float
    floor: float | None = None
    """The same by a bare client in the same run."""
    aim: float | None = None
    """At most; in the figure's unit, or a ratio to the floor where there is one."""


class FigureRow(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over all repeats: the median and the spread."""

    name: str
    unit: str
    value: float
    low: float
    high: float
    repeats: int
    floor: float | None = None
    ratio: float | None = None
    """Median of the ratios, each of one run."""
    aim: float | None = None


class BenchmarkReport(msgspec.Struct, frozen=True, kw_only=True):
    benchmark: str
    applications: int
    work: str
    rows: tuple[FigureRow, ...]
    load_before: float
    """Of the machine: near 0 where nobody else worked on it."""


class BenchmarkResults(msgspec.Struct, frozen=True, kw_only=True):
    machine: Machine
    reports: tuple[BenchmarkReport, ...]


def rows(repeats: Sequence[Sequence[Figure]]) -> tuple[FigureRow, ...]:
    """Figures of the same name become one row, in the order of the first repeat."""
    if not repeats:
        return ()
    return tuple(
        _row([one for figures in repeats for one in figures if one.name == first.name])
        for first in repeats[0]
    )


def _row(figures: Sequence[Figure]) -> FigureRow:
    values = [one.value for one in figures]
    floors = [one.floor for one in figures if one.floor is not None]
    ratios = [one.value / one.floor for one in figures if one.floor]
    return FigureRow(
        name=figures[0].name,
        unit=figures[0].unit,
        value=_rounded(statistics.median(values)),
        low=_rounded(min(values)),
        high=_rounded(max(values)),
        repeats=len(values),
        floor=_rounded(statistics.median(floors)) if floors else None,
        ratio=_rounded(statistics.median(ratios)) if ratios else None,
        aim=figures[0].aim,
    )


def _rounded(value: float) -> float:
    return round(value, 3)


def table_of(report: BenchmarkReport) -> Table:
    title = f"{report.benchmark}, N={report.applications}"
    caption = f"{report.work}. Load before: {report.load_before}"
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    table.add_column("figure")
    for name in ("median", "range", "floor", "x floor", "aim"):
        table.add_column(name, justify="right")
    for row in report.rows:
        table.add_row(row.name, *_cells(row))
    return table


def _cells(row: FigureRow) -> tuple[str, ...]:
    spread = f"{row.low:g} .. {row.high:g}" if row.repeats > 1 else ""
    return (
        f"{row.value:g} {row.unit}".strip(),
        spread,
        "" if row.floor is None else f"{row.floor:g}",
        "" if row.ratio is None else f"{row.ratio:g}",
        _aim(row),
    )


def _aim(row: FigureRow) -> str:
    if row.aim is None:
        return ""
    reached = (row.value if row.ratio is None else row.ratio) <= row.aim
    target = f"{row.aim:g}" if row.ratio is None else f"{row.aim:g} x"
    return f"<= {target}" if reached else f"<= {target} (missed)"
