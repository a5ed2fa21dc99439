"""Figures: what a benchmark found, once per repeat; and the reports they become. Pure.

A figure says its unit, and where they exist the floor of the same run and the aim. It is never
judged here: a missed aim is for the reader, and for docs/benchmarks.md to explain.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec

from benchmarks.machine import Machine


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    unit: str
    value: float
    floor: float | None = None
    """The same by a bare client in the same run."""
    aim: float | None = None
    """At most; in the figure's unit, or a ratio to the floor where there is one."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over all repeats: the median and how far they lie apart."""

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


class Report(msgspec.Struct, frozen=True, kw_only=True):
    benchmark: str
    applications: int
    work: str
    rows: tuple[Row, ...]
    load_before: float
    """Of the machine: near 0 where nobody else worked on it."""


class Results(msgspec.Struct, frozen=True, kw_only=True):
    machine: Machine
    reports: tuple[Report, ...]


def rows(repeats: Sequence[Sequence[Figure]]) -> tuple[Row, ...]:
    """Figures of the same name become one row, in the order of the first repeat."""
    if not repeats:
        return ()
    return tuple(
        _row([one for figures in repeats for one in figures if one.name == first.name])
        for first in repeats[0]
    )


def _row(figures: Sequence[Figure]) -> Row:
    values = [one.value for one in figures]
    floors = [one.floor for one in figures if one.floor is not None]
    ratios = [one.value / one.floor for one in figures if one.floor]
    return Row(
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
