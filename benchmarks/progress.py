"""What a long benchmark is doing: a bar with the time that is left on a terminal, else lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

OnProgress = Callable[[int, int], None]
"""How many are done, of how many."""


@dataclass(frozen=True, slots=True)
class ProgressScreen:
    console: Console
    bar: Progress | None

    def show(self, what: str) -> None:
        self.console.print(what, markup=False, highlight=False)

    @contextmanager
    def running(self, what: str) -> Iterator[OnProgress]:
        if self.bar is None:
            self.show(what)
            yield lambda _done, _all: None
            return
        bar, task = self.bar, self.bar.add_task(what, total=None)
        try:
            yield lambda done, total: bar.update(task, completed=done, total=total)
        finally:
            bar.remove_task(task)


@contextmanager
def open_screen(console: Console) -> Iterator[ProgressScreen]:
    if not console.is_terminal:
        yield ProgressScreen(console, None)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield ProgressScreen(console, bar)
