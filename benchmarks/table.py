"""A report as people read it: one table, the aim beside each figure that has one."""

from __future__ import annotations

from rich.table import Table

from benchmarks.figures import Report, Row


def table_of(report: Report) -> Table:
    title = f"{report.benchmark}, N={report.applications}"
    caption = f"{report.work}. Load before: {report.load_before}"
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    table.add_column("figure")
    for name in ("median", "range", "floor", "x floor", "aim"):
        table.add_column(name, justify="right")
    for row in report.rows:
        table.add_row(row.name, *_cells(row))
    return table


def _cells(row: Row) -> tuple[str, ...]:
    spread = f"{row.low:g} .. {row.high:g}" if row.repeats > 1 else ""
    return (
        f"{row.value:g} {row.unit}".strip(),
        spread,
        "" if row.floor is None else f"{row.floor:g}",
        "" if row.ratio is None else f"{row.ratio:g}",
        _aim(row),
    )


def _aim(row: Row) -> str:
    if row.aim is None:
        return ""
    reached = (row.value if row.ratio is None else row.ratio) <= row.aim
    wanted = f"{row.aim:g}" if row.ratio is None else f"{row.aim:g} x"
    return f"<= {wanted}" if reached else f"<= {wanted} (missed)"
