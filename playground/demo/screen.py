"""What one sees of the demo: the timeline scrolls, the applications stand below it.

On a terminal the table is live; elsewhere the same lines are printed plainly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from playground.demo.stage import Outcome, Stage
from playground.demo.timeline import Line

_SIGN = {
    "Synced": ("✔ Synced", "green"),
    "OutOfSync": ("◫ OutOfSync", "yellow"),
    "Healthy": ("● Healthy", "green"),
    "Progressing": ("◔ Progressing", "cyan"),
    "Degraded": ("◆ Degraded", "red"),
    "Suspended": ("‖ Suspended", "magenta"),
    "Missing": ("○ Missing", "yellow"),
}
_PLAIN_WIDTH = 160


class Screen:
    """Tell it what happened; it shows it. Make it with `showing`."""

    def __init__(self, console: Console, live: Live | None) -> None:
        self._console = console
        self._live = live
        self._apps: dict[str, Mapping[str, Any]] = {}
        self._doing = ""

    def stage(self, number: int, total: int, stage: Stage) -> None:
        self._doing = f"{number}/{total} {stage.name}"
        title = Text(f"\n{number}/{total} {stage.name}", style="bold")
        self._print(title.append(f": {stage.expected}", style="not bold"))

    def outcome(self, outcome: Outcome) -> None:
        mark, style = ("✔", "bold green") if outcome.held else ("✘ not reached:", "bold red")
        text = Text(f"    {mark} ", style=style).append(
            f"{outcome.seen} ", style="not bold default"
        )
        self._print(text.append(f"({outcome.ms} ms)", style="dim"))
        self._doing = ""

    def line(self, line: Line) -> None:
        hop = "" if line.hop_ms is None else f"{line.hop_ms:+.0f}"
        after = "" if line.after_ms is None else f"{line.after_ms:.0f} ms"
        text = Text(f"    {line.time:%H:%M:%S.%f}"[:-3], style="dim")
        text.append(f"{hop:>7}", style="cyan").append(f"{after:>9}  ", style="dim")
        text.append(f"{line.about:<10} ")
        self._print(text.append(line.what, style="red" if line.bad else ""))

    def applications(self, apps: Iterable[Mapping[str, Any]]) -> None:
        self._apps = {app["metadata"]["name"]: app for app in apps}
        self.refresh()

    def say(self, text: RenderableType) -> None:
        """As long as its lines are: a command that is cut in two cannot be copied."""
        self._console.print(text, highlight=False, soft_wrap=True)
        self.refresh()

    def refresh(self) -> None:
        if self._live is not None:
            self._live.update(self._footer())

    def _print(self, text: RenderableType) -> None:
        self._console.print(text, highlight=False)
        self.refresh()

    def _footer(self) -> RenderableType:
        if not self._apps:
            return Text()
        table = Table(box=None, padding=(0, 3, 0, 0), header_style="dim")
        for column in ("application", "sync", "health", "revision", ""):
            table.add_column(column)
        for name, app in sorted(self._apps.items()):
            table.add_row(name, *_cells(app))
        return Group(Text(), table, Text(self._doing, style="dim"))


@contextmanager
def showing(console: Console) -> Iterator[Screen]:
    if not console.is_terminal:
        console.width = max(console.width, _PLAIN_WIDTH)
        yield Screen(console, None)
        return
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        yield Screen(console, live)


def _cells(app: Mapping[str, Any]) -> tuple[RenderableType, ...]:
    status = app.get("status", {})
    sync, health = status.get("sync", {}), status.get("health", {})
    told = "; ".join(one["message"] for one in status.get("conditions", []))
    return (
        _sign(sync.get("status", "")),
        _sign(health.get("status", "")),
        Text(str(sync.get("revision", ""))[:7], style="dim"),
        Text(told[:80], style="red"),
    )


def _sign(status: str) -> Text:
    """A status is always shape, word and colour."""
    word, style = _SIGN.get(status, (f"? {status or 'Unknown'}", "dim"))
    return Text(word, style=style)
