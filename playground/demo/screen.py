"""What one sees of the demo: the timeline scrolls, the applications stand below it.

On a terminal the table is live; elsewhere the same lines are printed plainly.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bus.envelope import Envelope
from bus.events import Event, RefreshFailed, RenderFailed
from playground.demo.stage import DemoStage, StageOutcome

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
_WITH_CLOCK = 100
"""Terminals that are narrower show a line's milliseconds without its time of day."""


class DemoScreen:
    """Tell it what happened; it shows it. Make it with `showing`."""

    def __init__(self, console: Console, live: Live | None) -> None:
        self._console = console
        self._live = live
        self._apps: dict[str, Mapping[str, Any]] = {}
        self._current = ""

    def stage(self, number: int, total: int, stage: DemoStage) -> None:
        self._current = f"{number}/{total} {stage.name}"
        title = Text(f"\n{number}/{total} {stage.name}", style="bold")
        self._print(title.append(f": {stage.expected}", style="not bold"))

    def outcome(self, outcome: StageOutcome) -> None:
        mark, style = ("✔", "bold green") if outcome.held else ("✘ not reached:", "bold red")
        seen = Text(f"{outcome.seen} ").append(f"({outcome.ms} ms)", style="dim")
        self._print(_hanging(Text(f"    {mark} ", style=style), seen))
        self._current = ""

    def line(self, line: Line) -> None:
        hop = "" if line.hop_ms is None else f"{line.hop_ms:+.0f}"
        after = "" if line.after_ms is None else f"{line.after_ms:.0f} ms"
        clock = f"{line.time:%H:%M:%S.%f}"[:-3] if self._console.width >= _WITH_CLOCK else ""
        head = Text(f"    {clock}", style="dim")
        head.append(f"{hop:>7}", style="cyan").append(f"{after:>9}  ", style="dim")
        head.append(f"{line.about:<10} ")
        self._print(_hanging(head, Text(line.what, style="red" if line.bad else "")))

    def applications(self, apps: Iterable[Mapping[str, Any]]) -> None:
        self._apps = {app["metadata"]["name"]: app for app in apps}
        self.refresh()

    def write(self, text: RenderableType) -> None:
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
        table = Table(box=None, padding=(0, 3, 0, 0), header_style="dim", expand=True)
        for column in ("application", "sync", "health", "revision"):
            table.add_column(column, no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        for name, app in sorted(self._apps.items()):
            table.add_row(name, *_cells(app))
        return Group(Text(), table, Text(self._current, style="dim"))


@contextmanager
def showing(console: Console) -> Iterator[DemoScreen]:
    if not console.is_terminal:
        console.width = max(console.width, _PLAIN_WIDTH)
        yield DemoScreen(console, None)
        return
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        yield DemoScreen(console, live)


def _hanging(head: Text, rest: Text) -> Table:
    """What is longer than the line goes on below itself, not below the head."""
    grid = Table.grid()
    grid.add_column(width=head.cell_len, no_wrap=True)
    grid.add_column()
    grid.add_row(head, rest)
    return grid


def _cells(app: Mapping[str, Any]) -> tuple[RenderableType, ...]:
    status = app.get("status", {})
    sync, health = status.get("sync", {}), status.get("health", {})
    messages = "; ".join(one["message"] for one in status.get("conditions", []))
    return (
        _sign(sync.get("status", "")),
        _sign(health.get("status", "")),
        Text(str(sync.get("revision", ""))[:7], style="dim"),
        Text(messages, style="red"),
    )


def _sign(status: str) -> Text:
    """A status is always shape, word and colour."""
    word, style = _SIGN.get(status, (f"? {status or 'Unknown'}", "dim"))
    return Text(word, style=style)


_VERSION_BY_TIME = 7
_CHAINS = 1000


class Line(msgspec.Struct, frozen=True, kw_only=True):
    time: datetime
    after_ms: float | None
    """Milliseconds since the chain began; None where its id does not tell."""
    hop_ms: float | None
    """Milliseconds since the fact before it in the same chain, or since the chain began."""
    about: str
    what: str
    bad: bool = False


class Timeline:
    """Turns facts into lines; remembers the last fact of each chain, of the newest chains."""

    def __init__(self) -> None:
        self._last: dict[str, datetime] = {}

    def line(self, envelope: Envelope, fact: Event) -> Line:
        before = self._last.pop(envelope.correlation, None)
        self._last[envelope.correlation] = envelope.time
        while len(self._last) > _CHAINS:
            del self._last[next(iter(self._last))]
        return line_of(envelope, fact, before)


def line_of(envelope: Envelope, fact: Event, before: datetime | None = None) -> Line:
    """`before`: when the chain's fact before this one was said."""
    began = time_of(envelope.correlation)
    after = _milliseconds(began, envelope.time)
    hop = _milliseconds(before or began, envelope.time)
    about = envelope.subject.rpartition("/")[2].removesuffix(".git")
    bad = isinstance(fact, RefreshFailed | RenderFailed)
    what = fact.sentence
    return Line(time=envelope.time, after_ms=after, hop_ms=hop, about=about, what=what, bad=bad)


def _milliseconds(since: datetime | None, until: datetime) -> float | None:
    return (until - since).total_seconds() * 1000 if since else None


def time_of(event_id: str) -> datetime | None:
    """When an event was first published, from its id."""
    try:
        found = uuid.UUID(event_id)
    except ValueError:
        return None
    if found.version != _VERSION_BY_TIME:
        return None
    return datetime.fromtimestamp((found.int >> 80) / 1000, UTC)
